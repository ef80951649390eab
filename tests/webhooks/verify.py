"""Verifies a webhook delivery with the Standard Webhooks package for Python. Usage: verify.py FILE.
The file contains the secret, the headers and the body. Prints the message, or fails if the delivery
is invalid."""

import json
import sys

from standardwebhooks import Webhook

with open(sys.argv[1], encoding="utf-8") as file:
    delivery = json.load(file)
message = Webhook(delivery["secret"]).verify(delivery["body"], delivery["headers"])
print(json.dumps(message), end="")
