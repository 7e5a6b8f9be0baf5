"""The agents: how each is started without a person, with its own approval switched off, against the scripted model."""

import hashlib
import json
import os
import re
import sys
from pathlib import Path

MODULES = Path(os.environ["AGENTS_HOME"]) / "node_modules"
PROMPT = "Do it."


def native(pattern):
    """A program from the package of this platform."""
    return str(min(MODULES.glob(pattern), key=lambda path: len(str(path))))


def script(path):
    """A program that runs in Node 22."""
    return [native("node-linux-*/bin/node"), str(MODULES / path)]


class Agent:
    """A coding agent, and the parts that all agents share."""

    # The npm package with the version.
    package = ""
    # The time limit of the hook in its config, as `install` writes it, and a short one.
    limit, short_limit = "600", "2"

    def __init__(self, place, address):
        self.place, self.address = place, address

    @classmethod
    def version(cls):
        return json.loads((MODULES / cls.package / "package.json").read_text())["version"]

    def prepare(self):
        """Writes the agent's own config, before askfirst is installed."""

    def install(self):
        """Installs the hook as a person would."""
        place = self.place
        told = place.run([str(place.askfirst), "hook", "install", self.name, "--yes"])
        if str(place.askfirst) not in self.config_file().read_text():
            sys.exit(f"error: {self.config} has no hook:\n{told}")

    def shorten_limit(self):
        """Writes a short time limit into the config."""
        file = self.config_file()
        text, count = re.subn(rf"\b{self.limit}\b", self.short_limit, file.read_text())
        if count == 0:
            sys.exit(f"error: {self.config} has no time limit")
        file.write_text(text)

    def config_file(self):
        return self.place.home / self.config

    def env(self):
        return {}


class Claude(Agent):
    name, title, package, config = "claude", "Claude Code", "@anthropic-ai/claude-code", ".claude/settings.json"

    @staticmethod
    def shell(command):
        return "Bash", {"command": command, "description": "Run it"}

    @staticmethod
    def write(path, text):
        return "Write", {"file_path": path, "content": text}

    def command(self):
        return [native("@anthropic-ai/claude-code-linux-*/claude"), "-p", PROMPT, "--dangerously-skip-permissions"]

    def env(self):
        return {
            "ANTHROPIC_BASE_URL": self.address,
            "ANTHROPIC_API_KEY": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            # Without it, root cannot switch its approval off.
            "IS_SANDBOX": "1",
        }


class Codex(Agent):
    name, title, package, config = "codex", "Codex", "@openai/codex", ".codex/hooks.json"

    @staticmethod
    def shell(command):
        return "exec_command", {"cmd": command}

    @staticmethod
    def write(path, text):
        lines = "".join(f"+{line}\n" for line in text.splitlines())
        return "apply_patch", f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"

    def prepare(self):
        config = self.place.home / ".codex/config.toml"
        config.parent.mkdir()
        config.write_text(
            'model = "gpt-5.5"\nmodel_provider = "scripted"\n'
            f'[model_providers.scripted]\nname = "scripted"\nbase_url = "{self.address}/v1"\nwire_api = "responses"\n'
        )

    def install(self):
        # Only a person can trust the hook.
        told = self.place.approve([str(self.place.askfirst), "hook", "install", self.name, "--yes"])
        if self.trust(self.limit) not in (self.place.home / ".codex/config.toml").read_text():
            sys.exit(f"error: Codex does not trust the hook:\n{told}")

    def shorten_limit(self):
        super().shorten_limit()
        # As if the person had trusted this hook.
        config = self.place.home / ".codex/config.toml"
        config.write_text(config.read_text().replace(self.trust(self.limit), self.trust(self.short_limit)))

    def trust(self, limit):
        """The digest with which Codex trusts the hook before each call."""
        line = json.loads(self.config_file().read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        hook = {"async": False, "command": line, "timeout": int(limit), "type": "command"}
        identity = json.dumps({"event_name": "pre_tool_use", "hooks": [hook]}, separators=(",", ":"))
        return f"sha256:{hashlib.sha256(identity.encode()).hexdigest()}"

    def command(self):
        everything = "--dangerously-bypass-approvals-and-sandbox"
        return [*script("@openai/codex/bin/codex.js"), "exec", everything, "--skip-git-repo-check", PROMPT]


class Gemini(Agent):
    name, title, package, config = "gemini", "Gemini CLI", "@google/gemini-cli", ".gemini/settings.json"
    limit, short_limit = "600000", "2000"

    @staticmethod
    def shell(command):
        return "run_shell_command", {"command": command, "description": "Run it"}

    @staticmethod
    def write(path, text):
        return "write_file", {"file_path": path, "content": text}

    def prepare(self):
        config = self.place.home / self.config
        config.parent.mkdir()
        config.write_text(json.dumps({"security": {"auth": {"selectedType": "gemini-api-key"}}}, indent=2))

    def command(self):
        model = ["--model", "gemini-2.5-flash"]
        return [*script("@google/gemini-cli/bundle/gemini.js"), *model, "--yolo", "--prompt", PROMPT]

    def env(self):
        return {
            "GOOGLE_GEMINI_BASE_URL": self.address,
            "GEMINI_API_KEY": "none",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        }


class Copilot(Agent):
    name, title, package, config = "copilot", "Copilot CLI", "@github/copilot", ".copilot/hooks/askfirst.json"

    @staticmethod
    def shell(command):
        return "bash", {"command": command, "description": "Run it", "mode": "sync"}

    @staticmethod
    def write(path, text):
        return "create", {"path": path, "file_text": text}

    def command(self):
        program = native("@github/copilot-linux-*/copilot")
        return [program, "--allow-all-tools", "--allow-all-paths", "--no-auto-update", "-p", PROMPT]

    def env(self):
        return {
            "COPILOT_PROVIDER_BASE_URL": f"{self.address}/v1",
            "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none",
            "COPILOT_MODEL": "gpt-5",
            "COPILOT_OFFLINE": "true",
        }


class Qwen(Agent):
    name, title, package, config = "qwen", "Qwen Code", "@qwen-code/qwen-code", ".qwen/settings.json"
    limit, short_limit = "600000", "2000"

    @staticmethod
    def shell(command):
        return "run_shell_command", {"command": command, "description": "Run it", "is_background": False}

    @staticmethod
    def write(path, text):
        return "write_file", {"file_path": path, "content": text}

    def command(self):
        return [*script("@qwen-code/qwen-code/cli.js"), "--auth-type", "openai", "--yolo", "--prompt", PROMPT]

    def env(self):
        return {"OPENAI_BASE_URL": f"{self.address}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted"}


class Opencode(Agent):
    name, title, package = "opencode", "opencode", "opencode-ai"
    config = ".config/opencode/plugins/askfirst.js"
    limit, short_limit = "600000", "2000"

    @staticmethod
    def shell(command):
        return "bash", {"command": command, "description": "Run it"}

    @staticmethod
    def write(path, text):
        return "write", {"filePath": path, "content": text}

    def prepare(self):
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{self.address}/v1", "apiKey": "none"},
            "models": {"scripted": {"tool_call": True}},
        }
        config = {"provider": {"scripted": provider}, "model": "scripted/scripted", "autoupdate": False}
        config["permission"] = "allow"
        path = self.place.home / ".config/opencode/opencode.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(config))

    def command(self):
        return [native("opencode-linux-*/bin/opencode"), "run", PROMPT]

    def env(self):
        # The plugin's package is looked for at once, and not found.
        return {"npm_config_registry": self.address, "OPENCODE_DISABLE_MODELS_FETCH": "1"}


ALL = [Claude, Codex, Gemini, Copilot, Qwen, Opencode]
