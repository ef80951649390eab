// Verifies a delivery with the Standard Webhooks package for Node.js: `node verify.mjs FILE`. The file
// contains the secret, the headers and the body; the message is printed, or the program fails.
import { readFileSync } from 'node:fs';
import { Webhook } from 'standardwebhooks';

const { secret, headers, body } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
process.stdout.write(JSON.stringify(new Webhook(secret).verify(body, headers)));
