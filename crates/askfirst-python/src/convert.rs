//! Converts Python values to JSON and back.
//!
//! Values that a tool can tell apart stay different in JSON. A value that JSON cannot hold is an error; nothing is
//! guessed. For a value that is not plain, `askfirst._json` returns a tag: `Path("x")` is `{"$path": "x"}`. A plain
//! dict with a key that starts with `$` is wrapped, so it cannot pass for a tag.

use askfirst::Args;
use askfirst::json::MAX_DEPTH;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

/// The maximum number of values, and of bytes of text, in one conversion.
const MAX_VALUES: usize = 1_000_000;
const MAX_BYTES: usize = 64 << 20;

/// The tag around a dict that could pass for a tag.
const WRAPPED: &str = "$dict";

/// Converts a value to JSON.
pub(crate) fn to_value(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    ValueReader::default().read(value, 0)
}

/// Converts a dict, or an object whose fields `askfirst._json` knows, to a JSON object.
pub(crate) fn to_args(value: &Bound<'_, PyAny>) -> PyResult<Args> {
    match value.cast_exact::<PyDict>() {
        Ok(dict) => ValueReader::default().object(dict, 0),
        Err(_) => ValueReader::default().object(json_hook(value, "fields")?.cast_exact::<PyDict>()?, 0),
    }
}

/// Converts a dict of plain values to a type of askfirst.
pub(crate) fn to_typed<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    serde_json::from_value(to_value(value)?).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Converts a dict to a type of askfirst and keeps its tags. For answers to requests that were shown with tags.
pub(crate) fn to_typed_as_tagged<T: DeserializeOwned>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    let value = ValueReader { tags: TagMode::Keep, ..ValueReader::default() }.read(value, 0)?;
    serde_json::from_value(value).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Converts JSON to Python values.
pub(crate) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(value), _) => value.into_pyobject(py)?.into_any(),
            (None, Some(value)) => value.into_pyobject(py)?.into_any(),
            (None, None) => PyFloat::new(py, number.as_f64().unwrap_or(f64::NAN)).into_any(),
        },
        Value::String(text) => PyString::new(py, text).into_any(),
        Value::Array(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(to_python(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(map) => object_to_python(py, map)?.into_any(),
    })
}

/// Converts a JSON object to a dict.
pub(crate) fn object_to_python<'py>(
    py: Python<'py>,
    map: &Map<String, Value>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (key, value) in map {
        dict.set_item(key, to_python(py, value)?)?;
    }
    Ok(dict)
}

/// Converts a type of askfirst to Python values.
pub(crate) fn typed_to_python<'py>(
    py: Python<'py>,
    value: &impl serde::Serialize,
) -> PyResult<Bound<'py, PyAny>> {
    let value = serde_json::to_value(value).map_err(|e| PyValueError::new_err(e.to_string()))?;
    to_python(py, &value)
}

/// Calls a function of `askfirst._json`.
pub(crate) fn json_hook<'py>(value: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let py = value.py();
    let module = MODULE.get_or_try_init(py, || py.import("askfirst._json").map(Bound::unbind))?;
    module.bind(py).getattr(name)?.call1((value,))
}

/// Reads a value and counts what it reads. A value that contains one object many times can be a tree of any size.
#[derive(Default)]
struct ValueReader {
    values: usize,
    bytes: usize,
    tags: TagMode,
}

/// How to treat a plain dict that looks like a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum TagMode {
    #[default]
    Wrap,
    Keep,
}

impl ValueReader {
    fn read(&mut self, value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
        self.count(1, 0)?;
        if let Ok(text) = value.cast_exact::<PyString>() {
            return self.text(text).map(Value::String);
        }
        if value.is_none() {
            return Ok(Value::Null);
        }
        if let Ok(value) = value.cast_exact::<PyBool>() {
            return Ok(Value::Bool(value.is_true()));
        }
        if value.is_exact_instance_of::<PyInt>() {
            return integer(value);
        }
        if let Ok(value) = value.cast_exact::<PyFloat>() {
            let number = Number::from_f64(value.value());
            return number
                .map(Value::Number)
                .ok_or_else(|| fault(&format!("`{value}` is not a finite number")));
        }
        if depth >= MAX_DEPTH {
            return Err(fault(&format!(
                "the value is nested deeper than {MAX_DEPTH} levels, or contains itself"
            )));
        }
        if let Ok(dict) = value.cast_exact::<PyDict>() {
            let map = self.object(dict, depth)?;
            if self.tags == TagMode::Wrap && map.keys().any(|key| key.starts_with('$')) {
                return Ok(Value::Object(Map::from_iter([(WRAPPED.to_owned(), Value::Object(map))])));
            }
            return Ok(Value::Object(map));
        }
        if let Ok(list) = value.cast_exact::<PyList>() {
            return self.list(list.iter(), depth);
        }
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return self.list(tuple.iter(), depth);
        }
        let known = json_hook(value, "encode")?;
        match known.cast_exact::<PyDict>() {
            Ok(tagged) => self.object(tagged, depth).map(Value::Object),
            Err(_) if known.is_exact_instance_of::<PyList>() => self.read(&known, depth),
            Err(_) => Err(PyTypeError::new_err("askfirst._json.encode returned neither a dict nor a list")),
        }
    }

    fn object(&mut self, dict: &Bound<'_, PyDict>, depth: usize) -> PyResult<Map<String, Value>> {
        // Reading a value may run Python code that changes the dict. So this copies the items first.
        let items: Vec<(Bound<'_, PyAny>, Bound<'_, PyAny>)> = dict.iter().collect();
        let mut map = Map::new();
        for (key, value) in items {
            let Ok(name) = key.cast_exact::<PyString>() else {
                return Err(PyTypeError::new_err(format!(
                    "a key must be a str, not {}",
                    key.get_type().name()?
                )));
            };
            map.insert(self.text(name)?, self.read(&value, depth + 1)?);
        }
        Ok(map)
    }

    fn list<'py>(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>, depth: usize) -> PyResult<Value> {
        items.map(|item| self.read(&item, depth + 1)).collect::<PyResult<Vec<_>>>().map(Value::Array)
    }

    fn text(&mut self, text: &Bound<'_, PyString>) -> PyResult<String> {
        let text = text.to_str().map_err(|_| fault("a text contains an unpaired surrogate"))?;
        self.count(0, text.len())?;
        Ok(text.to_owned())
    }

    fn count(&mut self, values: usize, bytes: usize) -> PyResult<()> {
        self.values += values;
        self.bytes += bytes;
        if self.values > MAX_VALUES || self.bytes > MAX_BYTES {
            return Err(fault(&format!(
                "the value has more than {MAX_VALUES} items or {} MiB of text",
                MAX_BYTES >> 20
            )));
        }
        Ok(())
    }
}

fn integer(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if let Ok(small) = value.extract::<i64>() {
        return Ok(Value::from(small));
    }
    match value.extract::<u64>() {
        Ok(large) => Ok(Value::from(large)),
        Err(_) => Err(fault("an integer does not fit into 64 bits")),
    }
}

fn fault(text: &str) -> PyErr {
    PyValueError::new_err(text.to_owned())
}

/// Returns the JSON text under which askfirst judges, shows and remembers a value. With `tagged`, tags are kept.
#[pyfunction]
#[pyo3(signature = (value, tagged=false))]
pub(crate) fn to_json(value: &Bound<'_, PyAny>, tagged: bool) -> PyResult<String> {
    let tags = if tagged { TagMode::Keep } else { TagMode::Wrap };
    Ok(ValueReader { tags, ..ValueReader::default() }.read(value, 0)?.to_string())
}

/// Returns why arguments do not match a JSON Schema, or `None` if they do.
#[pyfunction]
pub(crate) fn check_args(schema: &Bound<'_, PyAny>, args: &Bound<'_, PyAny>) -> PyResult<Option<String>> {
    let schema = ValueReader { tags: TagMode::Keep, ..ValueReader::default() }.read(schema, 0)?;
    let mismatch = askfirst::schema::check_args(&schema, &to_args(args)?).err();
    Ok(mismatch.map(|mismatch| mismatch.to_string()))
}

/// Returns the plain values under which askfirst judges, shows and remembers a value.
#[pyfunction]
pub(crate) fn plain<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    to_python(value.py(), &to_value(value)?)
}

/// Describes a Python exception in one line.
pub(crate) fn describe_error(py: Python<'_>, error: &PyErr) -> String {
    let name = error.get_type(py).getattr(intern!(py, "__name__")).and_then(|name| name.extract::<String>());
    let text = error.value(py).str().map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
    let name = name.unwrap_or_else(|_| "an exception".to_owned());
    if text.is_empty() { name } else { format!("{name}: {text}") }
}

/// Converts a config that was passed as a dict to JSON text.
pub(crate) fn config_text(config: &Bound<'_, PyAny>) -> PyResult<String> {
    json_hook(config, "config_text")?.extract()
}
