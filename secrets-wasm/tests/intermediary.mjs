// Server between a client and a service, as a program: intermediary.mjs KIND SETTINGS, with the settings in
// JSON. The first line of its output is its address, and each further line an event. It ends with its input,
// so that it does not outlive the tests.

import { createServer, request as send } from "node:http";
import { connect } from "node:net";

const HTML = { "content-type": "text/html" };

const report = (...event) => console.log(event.join(" "));

// Forward proxy: opens a tunnel for CONNECT, and forwards a request with an absolute URL.
function proxy() {
  const server = createServer((request, response) => {
    report(request.method, request.url);
    forward(request, response, new URL(request.url));
  });
  server.on("connect", (request, socket, head) => {
    report("CONNECT", request.url);
    const { hostname, port } = new URL(`http://${request.url}`);
    const target = connect(port, hostname, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      target.write(head);
      target.pipe(socket).pipe(target);
    });
    target.on("error", () => socket.destroy());
    socket.on("error", () => target.destroy());
  });
  return server;
}

// Load balancer. Answers the first requests with HTML and the given pairs of a status and a `Retry-After`
// header, as if no server were available, and forwards all further requests.
function balancer({ service, failures }) {
  return createServer((request, response) => {
    const [status, delay] = failures.shift() ?? [];
    report(request.method, status ?? "forwarded");
    if (status === undefined) return forward(request, response, new URL(request.url, service));
    request.resume();
    response.writeHead(status, { ...HTML, "retry-after": delay }).end(`<html><h1>${status}</h1></html>`);
  });
}

// Forwards responses, but sends their bodies in pieces of `size` bytes, one after each `interval` in
// milliseconds. Reports a connection that the client closed before the end.
function dripping({ service, size, interval }) {
  return createServer((request, response) => {
    response.once("close", () => report(response.writableFinished ? "finished" : "closed"));
    forward(request, response, new URL(request.url, service), async (content) => {
      const bytes = Buffer.concat(await content.toArray());
      response.flushHeaders();
      for (let at = 0; at < bytes.length && !response.destroyed; at += size) {
        await new Promise((resolve) => setTimeout(resolve, interval));
        response.write(bytes.subarray(at, at + size));
      }
      response.end();
    });
  });
}

// Server that accepts requests and never responds.
function silent() {
  return createServer((request, response) => {
    response.once("close", () => report("closed"));
  });
}

function forward(request, response, target, copy = (content) => content.pipe(response)) {
  const { method, headers } = request;
  const forwarded = send(target, { method, headers }, (answer) => {
    response.writeHead(answer.statusCode, answer.headers);
    copy(answer);
  });
  forwarded.on("error", () => response.destroy());
  request.pipe(forwarded);
}

const [kind, settings] = process.argv.slice(2);
const server = { proxy, balancer, dripping, silent }[kind](JSON.parse(settings));
server.listen(0, "127.0.0.1", () => report(`http://127.0.0.1:${server.address().port}`));
process.stdin.resume().once("end", () => process.exit());
