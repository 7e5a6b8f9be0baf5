// The official TypeScript clients, told by their arguments what to talk to and what to try there.
//   node typescript.mjs v1|v2 everything|fixture|cancel|files|serve URL|COMMAND ARGS…
// Prints "ok" when all went as it should.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';

const require = createRequire(`${process.env.MCP_HOME}/`);
const [generation, task, target, ...args] = process.argv.slice(2);

const sampled = async () => ({
    role: 'assistant',
    model: 'none',
    content: { type: 'text', text: "a model's answer" }
});
const elicited = async request => {
    // Our own questions are about files: yes to one, no to the others.
    const own = request.params.requestedSchema?.properties?.answer;
    if (!own) return { action: 'accept', content: { name: 'Ada' } };
    const answer = request.params.message.includes('yes.txt') ? 'approve once' : 'deny';
    return { action: 'accept', content: { answer, reason: 'as the test wants' } };
};
const capabilities = { sampling: {}, elicitation: {} };
const who = { name: 'askfirst-tests', version: '1.0.0' };

function parts() {
    if (generation === 'v1') {
        const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
        const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');
        const { StreamableHTTPClientTransport } = require('@modelcontextprotocol/sdk/client/streamableHttp.js');
        const { CreateMessageRequestSchema, ElicitRequestSchema } = require('@modelcontextprotocol/sdk/types.js');
        const client = new Client(who, { capabilities });
        client.setRequestHandler(CreateMessageRequestSchema, sampled);
        client.setRequestHandler(ElicitRequestSchema, elicited);
        const call = (name, given, options) => client.callTool({ name, arguments: given }, undefined, options);
        return { client, call, StdioClientTransport, StreamableHTTPClientTransport };
    }
    const { Client, StreamableHTTPClientTransport } = require('@modelcontextprotocol/client');
    const { StdioClientTransport } = require('@modelcontextprotocol/client/stdio');
    const client = new Client(who, { capabilities, versionNegotiation: { mode: 'auto' } });
    client.setRequestHandler('sampling/createMessage', sampled);
    client.setRequestHandler('elicitation/create', elicited);
    const call = (name, given, options) => client.callTool({ name, arguments: given }, options);
    return { client, call, StdioClientTransport, StreamableHTTPClientTransport };
}

const { client, call, StdioClientTransport, StreamableHTTPClientTransport } = parts();
const words = result => result.content.map(part => part.text ?? '').join(' ');

const tasks = {
    async everything() {
        const names = (await client.listTools()).tools.map(tool => tool.name);
        for (const name of ['echo', 'get-env', 'get-sum']) assert(names.includes(name), name);

        assert.equal(words(await call('echo', { message: 'hello there' })), 'Echo: hello there');

        const denied = await call('get-env', {});
        assert.equal(denied.isError, true);
        assert.match(words(denied), /mcp__everything__get-env.*refused/);

        const steps = [];
        const onprogress = step => steps.push([step.progress, step.total]);
        await call('trigger-long-running-operation', { duration: 0.3, steps: 3 }, { onprogress });
        // The older client drops a step that comes in one read with the result.
        assert.deepEqual(steps.slice(0, 2), [[1, 3], [2, 3]]);

        const uri = 'demo://resource/dynamic/text/1';
        assert.equal((await client.readResource({ uri })).contents[0].uri, uri);
        assert((await client.listResourceTemplates()).resourceTemplates.length > 0);
        const prompt = await client.getPrompt({ name: 'args-prompt', arguments: { city: 'Oslo' } });
        assert.match(prompt.messages[0].content.text, /Oslo/);

        assert.match(words(await call('trigger-sampling-request', { prompt: 'hi', maxTokens: 9 })), /a model's answer/);
        assert.match(words(await call('trigger-elicitation-request', {})), /Ada/);
    },

    async fixture() {
        assert.match(words(await call('test_simple_text', {})), /^This is/);
        const denied = await call('test_image_content', {});
        assert.equal(denied.isError, true);
        assert.match(words(denied), /refused/);
        const asking = generation === 'v1' ? 'test_elicitation' : 'test_input_required_result_elicitation';
        assert.notEqual(words(await call(asking, generation === 'v1' ? { message: 'who?' } : {})), '');
    },

    async cancel() {
        const giveUp = new AbortController();
        const slow = call('trigger-long-running-operation', { duration: 5, steps: 1 }, { signal: giveUp.signal });
        setTimeout(() => giveUp.abort('enough'), 500);
        await assert.rejects(slow);
        assert.match(words(await call('get-sum', { a: 2, b: 3 })), /5/);
    },

    async serve() {
        const names = (await client.listTools()).tools.map(tool => tool.name);
        for (const name of ['read_file', 'write_file', 'count']) assert(names.includes(name), name);
        assert.match(words(await call('read_file', { path: 'shelf:note.txt' })), /buy milk/);
        const written = await call('write_file', { path: 'shelf:yes.txt', content: 'yes' });
        assert(!written.isError, words(written));
        const refused = await call('write_file', { path: 'shelf:no.txt', content: 'no' });
        assert.equal(refused.isError, true);
        assert.match(words(refused), /as the test wants/);
        const counted = await call('count', { path: `${process.cwd()}/shelf/note.txt` });
        assert.match(counted.structuredContent.stdout, /^2 /);
    },

    async files() {
        const path = `${process.cwd()}/shelf/note.txt`;
        assert.equal(words(await call('read_text_file', { path })), 'buy milk');
        const written = await call('write_file', { path, content: 'gone' });
        assert.equal(written.isError, true);
        assert.match(words(written), /refused/);
    }
};

const token = process.env.TOKEN;
const headers = token ? { Authorization: `Bearer ${token}` } : {};
const transport = target.startsWith('http')
    ? new StreamableHTTPClientTransport(new URL(target), { requestInit: { headers } })
    : new StdioClientTransport({ command: target, args, env: process.env });
await client.connect(transport);
await tasks[task]();
await client.close();
console.log('ok');
