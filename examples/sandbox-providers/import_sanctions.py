#!/usr/bin/env python3
"""Reads a sanctions list as its publisher gives it, and makes it the one that the sandbox screens by (docs/wallet/providers.md).

    TENON_KEY=tk_test_... python3 import_sanctions.py --list ofac-sdn sdn_advanced.xml

Understands OFAC's sdn_advanced.xml and sdn.csv, and plain texts with an address a line. Only addresses on blockchains are taken. The
standard library is enough; files are read as a stream.
"""

import argparse
import csv
import datetime
import hashlib
import json
import os
import re
import sys
import time
import urllib.error
import urllib.request
from xml.etree import ElementTree

CHUNK_ENTRIES = 500
NAME_CHARS_MAX = 256
ADDRESS_CHARS_MAX = 128
ATTEMPTS = 4
FEATURE = "Digital Currency Address - "
IN_REMARKS = re.compile(r"Digital Currency Address - ([A-Za-z0-9]+) ([^\s;,]+)")


def local(tag):
    """Without its namespace, which differs between editions."""
    return tag.rsplit("}", 1)[-1]


def entry_of(address, asset=None, name=None, source_id=None):
    """None where the text cannot be an address."""
    address = address.strip().rstrip(".")
    if not address or len(address) > ADDRESS_CHARS_MAX or not all("!" <= letter <= "~" for letter in address):
        return None
    entry = {"address": address}
    for field, value in (("asset", asset), ("name", name), ("source_id", source_id)):
        value = " ".join((value or "").split())[:NAME_CHARS_MAX]
        if value:
            entry[field] = value
    return entry


def find_all(element, name):
    return [below for below in element.iter() if local(below.tag) == name]


def primary_name(party):
    aliases = [alias for alias in find_all(party, "Alias") if alias.get("Primary") == "true"] or [party]
    parts = find_all(aliases[0], "NamePartValue")
    return " ".join(part.text or "" for part in parts)


def features_of(party, types):
    """The assets and addresses of one party."""
    for feature in find_all(party, "Feature"):
        asset = types.get(feature.get("FeatureTypeID"))
        if asset:
            for detail in find_all(feature, "VersionDetail"):
                yield asset, detail.text or ""


def read_xml(path, facts):
    """sdn_advanced.xml. Reference values stand before the parties; each party is dropped when it has been read."""
    types = {}
    for _, element in ElementTree.iterparse(path):
        name = local(element.tag)
        if name == "FeatureType":
            text = (element.text or "").strip()
            if text.startswith(FEATURE):
                types[element.get("ID")] = text[len(FEATURE):]
        elif name == "DateOfIssue":
            parts = {local(part.tag): int(part.text) for part in element}
            facts["published"] = datetime.date(parts["Year"], parts["Month"], parts["Day"])
        elif name == "DistinctParty":
            for asset, address in features_of(element, types):
                yield entry_of(address, asset, primary_name(element), element.get("FixedRef"))
            element.clear()
        elif name in ("SanctionsEntry", "Location", "IDRegDocument", "ProfileRelationship"):
            element.clear()


def read_csv(path, _facts):
    """sdn.csv: no header; the number and the name first, the remarks last."""
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        for row in csv.reader(file):
            name = row[1] if len(row) > 3 else None
            for asset, address in IN_REMARKS.findall(row[-1] if row else ""):
                yield entry_of(address, asset, name, row[0])


def read_text(path, _facts):
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            yield entry_of(line.split("#", 1)[0])


READERS = {"xml": read_xml, "csv": read_csv, "text": read_text}


def format_of(path):
    return {".xml": "xml", ".csv": "csv"}.get(os.path.splitext(path)[1].lower(), "text")


def read(path, form=None):
    """The entries, each once, in an order that does not depend on the file's; and the day of the publication."""
    facts = {"published": datetime.datetime.fromtimestamp(os.path.getmtime(path), datetime.timezone.utc).date()}
    entries = {}
    for entry in READERS[form or format_of(path)](path, facts):
        if entry:
            entries[json.dumps(entry, sort_keys=True)] = entry
    return [entries[key] for key in sorted(entries)], facts["published"]


def version_of(entries, published):
    digest = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()
    return f"{published.isoformat()}-{digest[:12]}"


def chunks_of(entries, published):
    """The bodies of the requests."""
    parts = [entries[at:at + CHUNK_ENTRIES] for at in range(0, len(entries), CHUNK_ENTRIES)]
    version = version_of(entries, published)
    for number, part in enumerate(parts):
        yield {
            "version": version,
            "published_at": f"{published.isoformat()}T00:00:00Z",
            "chunk": number,
            "chunks": len(parts),
            "entries": part,
        }


def put(url, key, body):
    """A chunk can be sent again: what is there already stays as it is."""
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    for attempt in range(ATTEMPTS):
        request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="PUT")
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code < 500 and error.code != 429 or attempt + 1 == ATTEMPTS:
                raise SystemExit(f"{error.code}: {error.read().decode(errors='replace')}") from error
        except OSError as error:
            if attempt + 1 == ATTEMPTS:
                raise SystemExit(f"no answer from {url}: {error}") from error
        time.sleep(2**attempt)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Imports a sanctions list into the sandbox providers.")
    parser.add_argument("file")
    parser.add_argument("--list", required=True, help="its name: letters, digits and -_.")
    parser.add_argument("--url", default="http://127.0.0.1:8080/sandbox-providers", help="where the plugin is mounted")
    parser.add_argument("--format", choices=sorted(READERS), help="where the ending of the file does not say it")
    parser.add_argument("--published", type=datetime.date.fromisoformat, help="where the file does not say the day")
    parser.add_argument("--dry-run", action="store_true", help="print the entries and send nothing")
    options = parser.parse_args(arguments)
    try:
        entries, published = read(options.file, options.format)
    except (OSError, ElementTree.ParseError, KeyError, TypeError, ValueError, csv.Error) as error:
        raise SystemExit(f"{options.file} cannot be read: {error}; the list stays as it is") from error
    if not entries:
        raise SystemExit("no address was found in the file; the list stays as it is")
    if options.dry_run:
        for entry in entries:
            print(json.dumps(entry))
        return
    key = os.environ.get("TENON_KEY") or sys.exit("TENON_KEY is not set: an API key of the plugin")
    url = f"{options.url.rstrip('/')}/v1/sanctions/lists/{options.list}"
    for body in chunks_of(entries, options.published or published):
        state = put(url, key, body)
    current = state["current"]
    print(f"{options.list}: version {current['version']}, {current['entries']} entries")


if __name__ == "__main__":
    main()
