// Written by `askfirst hook install opencode`. Remove it with `askfirst hook uninstall opencode`.
//
// It starts `askfirst hook opencode` for each tool call. The call runs only if askfirst allows it.
import { spawn } from "node:child_process";

const PROGRAM = "{program}";
const TIME_LIMIT = 0; // milliseconds

/** Sends an event to askfirst, and returns its exit code and output. */
function send(event) {
  return new Promise((resolve, reject) => {
    const child = spawn(PROGRAM, ["hook", "opencode"], { stdio: ["pipe", "pipe", "pipe"] });
    let stdout = "";
    let stderr = "";
    const limit = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error("askfirst did not answer in time, so the call was denied"));
    }, TIME_LIMIT);
    child.on("error", (error) => {
      clearTimeout(limit);
      reject(new Error(`askfirst did not start, so the call was denied: ${error.message}`));
    });
    child.on("close", (code) => {
      clearTimeout(limit);
      resolve({ code, stdout, stderr });
    });
    child.stdout.setEncoding("utf8").on("data", (text) => (stdout += text));
    child.stderr.setEncoding("utf8").on("data", (text) => (stderr += text));
    // A program that ends without reading has an exit code, which decides.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(event));
  });
}

/** Reads the answer of askfirst. Anything but a valid answer is a denial. */
function read({ code, stdout, stderr }) {
  let answer;
  try {
    answer = JSON.parse(stdout);
  } catch {
    answer = {};
  }
  if (code === 0 && answer?.version === 1 && answer.decision === "allow") return answer;
  throw new Error(answer?.reason || stderr.trim() || "askfirst gave no valid answer, so the call was denied");
}

export const Askfirst = async ({ directory }) => {
  const event = (name, input, args) => ({
    version: 1,
    event: name,
    session: input.sessionID,
    call: input.callID,
    cwd: directory,
    tool: input.tool,
    args: args ?? {},
  });
  return {
    "tool.execute.before": async (input, output) => {
      const answer = read(await send(event("tool.execute.before", input, output.args)));
      if (answer.args) {
        for (const name of Object.keys(output.args)) delete output.args[name];
        Object.assign(output.args, answer.args);
      }
    },
    "tool.execute.after": async (input, output) => {
      const after = event("tool.execute.after", input, input.args);
      await send({ ...after, output: output?.output ?? null }).catch(() => {});
    },
    event: async ({ event: { type, properties } }) => {
      if (type !== "session.deleted") return;
      const session = properties?.info?.id ?? properties?.sessionID;
      await send({ version: 1, event: type, session, cwd: directory }).catch(() => {});
    },
  };
};
