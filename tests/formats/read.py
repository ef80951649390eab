"""Prints the values that a Python package reads from an exported file: `python read.py
READER FILE`."""

import base64
import csv
import json
import sys

import dotenv
import yaml


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["key", "value"], header
    return {key: value for key, value in rows}


def read_json(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def read_yaml(path):
    with open(path, encoding="utf-8", newline="") as file:
        return yaml.safe_load(file)


def read_manifest(path):
    data = read_yaml(path)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


READERS = {
    "csv": read_csv,
    "dotenv": lambda path: dotenv.dotenv_values(path, encoding="utf-8"),
    "json": read_json,
    "k8s": read_manifest,
    "yaml": read_yaml,
}

_, reader, path = sys.argv
json.dump(READERS[reader](path), sys.stdout)
