"""Test server with the AWS Lambda Invoke API, which calls the function in
`examples/rotation-proxy`.

Usage: endpoint.py; the shared secret is in SHARED_SECRET, as in the function's configuration.
Prints `listening on http://ADDRESS`, and ends when its standard input is closed, so that it ends
with the test. The function `rotate` is the real function. The other functions, such as `repeats`,
respond wrongly as their names describe.
"""

import io
import json
import os
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "rotation-proxy"))

import lambda_function  # noqa: E402

PREFIX, SUFFIX = "/2015-03-31/functions/", "/invocations"
# Errors that the API returns without a function call.
ERRORS = {
    "missing": (404, "ResourceNotFoundException"),
    "denied": (403, "AccessDeniedException"),
    "throttled": (429, "TooManyRequestsException"),
    "pending": (409, "ResourceConflictException"),
    "unwell": (500, "ServiceException"),
}
answers: list[dict] = []


def rotate(event):
    answers.append(lambda_function.lambda_handler(event, None))
    return answers[-1]


def late(event):
    """Runs the real rotation function. Waits two seconds before it changes a user, even
    if the caller has closed the connection in the meantime."""
    if event["step"] == "apply":
        print("late apply", flush=True)
        time.sleep(2)
    return rotate(event)


def repeats(_event):
    """Returns the last response of the real rotation function again, although it
    belongs to an earlier request."""
    return answers[-1]


def agrees(event):
    """Returns a response that reports success but is signed with a wrong secret."""
    secret = lambda_function.key_id(b"kvc_another_secret").encode()
    return lambda_function.seal_answer(event, secret, "ok", {})


def breaks(_event):
    raise RuntimeError("kvc_what a function says when it breaks")


def looks(event):
    """Runs SQL statements as a database user, so that tests can inspect the database.
    The tests call it, not the service."""
    kinds = {"postgresql": lambda_function.Postgres, "mysql": lambda_function.Mysql}
    target = kinds[event["connection"]["integration"]](event["connection"])
    try:
        target.connect(event["username"], event["password"], "login_rejected")
    except lambda_function.Fault as fault:
        return {"login_rejected": "shut out", "probe_refused": "refused"}[fault.code]
    try:
        if event["connection"]["integration"] == "postgresql":
            target.run("SET search_path = public")
        for statement in event["statements"]:
            target.run(statement)
    except lambda_function.Fault as fault:
        return {"privilege_missing": "refused"}[fault.code]
    finally:
        target.close()
    return "done"


FUNCTIONS = {
    "looks": looks, "rotate": rotate, "late": late, "repeats": repeats, "agrees": agrees, "breaks": breaks,
}


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        path = unquote(self.path)
        if not (path.startswith(PREFIX) and path.endswith(SUFFIX)):
            return self.answer(404, {"message": "no such path"})
        if "AWS4-HMAC-SHA256" not in self.headers.get("authorization", ""):
            return self.answer(403, {"message": "not signed"}, ("X-Amzn-Errortype", "Unsigned"))
        name = path.removeprefix(PREFIX).removesuffix(SUFFIX).split(":function:")[-1].split(":")[0]
        if name not in FUNCTIONS:
            status, error = ERRORS.get(name, ERRORS["missing"])
            return self.answer(status, {"message": "no"}, ("X-Amzn-Errortype", error))
        try:
            self.answer(200, FUNCTIONS[name](json.loads(body)))
        except Exception as error:
            said = {"errorMessage": str(error), "errorType": type(error).__name__}
            self.answer(200, said, ("X-Amz-Function-Error", "Unhandled"))

    def answer(self, status, content, header=None):
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        if header:
            self.send_header(*header)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class WholeLines(io.TextIOBase):
    """Output stream to the standard error. Writes each line at once, so that the lines
    of functions that run at the same time do not mix."""

    def __init__(self):
        self.thread = threading.local()

    def write(self, text: str) -> int:
        unfinished = getattr(self.thread, "line", "") + text
        lines, end, self.thread.line = unfinished.rpartition("\n")
        if end:
            os.write(2, (lines + end).encode())
        return len(text)


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    # Prints the address before any log line of the function.
    print(f"listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
    sys.stdout = WholeLines()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
