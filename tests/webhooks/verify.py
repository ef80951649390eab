"""Verifies a delivery with the Standard Webhooks package for Python: verify.py FILE. The file contains
the secret, the headers and the body; the message is printed, or the program fails."""

import json
import sys

from standardwebhooks import Webhook

with open(sys.argv[1], encoding="utf-8") as file:
    delivery = json.load(file)
message = Webhook(delivery["secret"]).verify(delivery["body"], delivery["headers"])
print(json.dumps(message), end="")
