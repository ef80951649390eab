"""Mail server for tests: stores each accepted message as a file. Usage: server.py PORT FOLDER [REFUSE]

REFUSE is the number of recipients that are refused temporarily (451) before the first is accepted;
`for-good` refuses all recipients permanently (550 5.1.1), `login` the first password (535), and
`relay` the first recipient because the client may not relay (550 5.7.1). Prints "listening" when it
accepts connections.
"""

import itertools
import pathlib
import socketserver
import sys

port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
refuse = sys.argv[3] if len(sys.argv) > 3 else "0"
refused = 0
# Messages arrive concurrently, so each message has its own number.
numbers = itertools.count()


class Session(socketserver.StreamRequestHandler):
    def say(self, line):
        self.wfile.write(f"{line}\r\n".encode())

    def handle(self):
        self.say("220 test ESMTP")
        recipients = []
        while line := self.rfile.readline():
            command = line.decode("utf-8", "replace").strip()
            verb = command.upper()
            if verb.startswith("EHLO"):
                self.say("250-test")
                self.say("250-AUTH PLAIN")
                self.say("250 SMTPUTF8")
            elif verb.startswith("AUTH"):
                self.login()
            elif verb.startswith("RCPT"):
                self.recipient(command, recipients)
            elif verb.startswith("DATA"):
                self.say("354 go on")
                self.keep(recipients)
                self.say("250 taken")
                recipients = []
            elif verb.startswith("QUIT"):
                self.say("221 bye")
                return
            else:
                self.say("250 ok")

    def login(self):
        global refused
        if refuse == "login" and refused == 0:
            refused += 1
            self.say("535 5.7.8 wrong password")
        else:
            self.say("235 2.7.0 ok")

    def recipient(self, command, recipients):
        global refused
        # Real servers include the address in the response, too.
        if refuse == "for-good":
            self.say(f"550 5.1.1 {command} unknown")
        elif refuse == "relay" and refused == 0:
            refused += 1
            self.say(f"550 5.7.1 {command} relaying denied")
        elif refuse.isdecimal() and refused < int(refuse):
            refused += 1
            self.say(f"451 4.7.1 {command} later")
        else:
            recipients.append(command)
            self.say("250 ok")

    def keep(self, recipients):
        lines = []
        while (line := self.rfile.readline()) and line != b".\r\n":
            lines.append(line[1:] if line.startswith(b"..") else line)
        number = next(numbers)
        half = folder / f"{number:04}.half"
        half.write_bytes("\r\n".join(recipients).encode() + b"\r\n" + b"".join(lines))
        half.rename(folder / f"{number:04}.eml")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


with Server(("127.0.0.1", port), Session) as server:
    print("listening", flush=True)
    server.serve_forever()
