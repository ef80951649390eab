// Prints the values that a Node.js package reads from a file: `node read.mjs READER FILE`.
import { readFileSync } from 'node:fs';
import dotenv from 'dotenv';
import YAML from 'yaml';

const readers = {
  dotenv: (text) => dotenv.parse(text),
  json: (text) => JSON.parse(text),
  'yaml-1.1': (text) => YAML.parse(text, { version: '1.1' }),
  'yaml-1.2': (text) => YAML.parse(text, { version: '1.2' }),
  k8s: (text) => decoded(YAML.parse(text).data),
};

function decoded(data) {
  const decode = ([key, value]) => [key, Buffer.from(value, 'base64').toString('utf8')];
  return Object.fromEntries(Object.entries(data).map(decode));
}

const [reader, file] = process.argv.slice(2);
process.stdout.write(JSON.stringify(readers[reader](readFileSync(file, 'utf8'))));
