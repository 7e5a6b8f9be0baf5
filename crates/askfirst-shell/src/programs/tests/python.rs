//! Python in a line: what only computes is covered by a rule, all else is a doubt.

use crate::programs::code::{Looked, python};

fn is_fine(text: &str) -> bool {
    matches!(python(text), Looked::Fine { .. })
}

#[test]
fn script_that_computes_and_prints_has_no_doubt() {
    for text in [
        "print(1+1)",
        "import sys; print(sys.version)",
        "import json,sys; print(json.load(sys.stdin)[\"version\"])",
        "import json, sys\nfor row in json.load(sys.stdin):\n    print(row['name'], row.get('x', 0))\n",
        "from collections import Counter\nprint(Counter('hello').most_common(2))",
        "from datetime import datetime, timedelta as t; print((datetime.now() - t(days=2)).isoformat())",
        "import re\nprint(re.sub(r'a\\d', 'b', 'a1 open exec'))  # the open ones",
        "x = {'a': 1}\nfor k, v in x.items():\n    print(f\"{k}: {v}\")",
        "import math\nprint(f'{math.pi:.3f} → {math.sqrt(2)}')",
        "import urllib.parse; print(urllib.parse.quote('a b'))",
        "print('''\nimport os\n''')",
        "if __name__ == '__main__':\n    print(sum(range(10)))",
        "print([x for x in range(3) if x % 2 == 0], 0x1f, 1.5, 1_000)",
    ] {
        assert!(is_fine(text), "{text}: {:?}", python(text));
    }
}

#[test]
fn script_that_reaches_further_is_a_doubt() {
    for text in [
        "import os",
        "import os; os.system('touch x')",
        "import json, os",
        "import json as j, os as o",
        "from os import system",
        "from sys import modules",
        "from json import (codecs)",
        "from json import *",
        "import urllib.request",
        "import json.tool",
        "print(open('.env').read())",
        "map(open, ['x'])",
        "exec('x')",
        "eval('1')",
        "__import__('os')",
        "getattr(1, 'x')",
        "().__class__.__base__.__subclasses__()",
        "import sys; sys.modules['os']",
        "import sys\n(sys.\nmodules)",
        "import sys\n(sys. # x\nmodules)",
        "import sys\nsys.\\\nmodules",
        "import sys\nf''; (sys. # x\nmodules)",
        "import sys\nf''; sys.\\\nmodules",
        "x = 1.\ncompile('', '', 'exec')",
        "import json; json.codecs.open('x')",
        "import sys\nmatch sys:\n    case object(modules=m): pass",
        "print(f\"{open('x')}\")",
        "print(f'{\"a'b\"}'); open(\"x\")",
        "y = f'', ':import json as ', open('x')",
        "y = f'', ':from json import ', compile('', '', 'exec')",
        "'{0.modules[os].environ}'.format(x)",
        "# -*- coding: utf-7 -*-\nprint(1)",
        "# a\rimport os",
        "print('a",
        "ｏｐｅｎ('x')",
        "f''; ｏｐｅｎ('x')",
        "import evil",
        "import random; random._os.system('x')",
        "print(input())",
        "import copy",
        "type('X', (), {'__reduce_ex__': print})",
        "type(int)('X', (), {})",
        "class X: pass",
        "if f':from json ': import platform",
    ] {
        assert!(!is_fine(text), "{text}");
    }
}
