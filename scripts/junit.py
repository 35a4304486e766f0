"""Reads JUnit reports in which tests have printed hostile bytes."""

import re
import xml.etree.ElementTree as xml

NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def parse(report):
    text = NOT_XML.sub("?", report.read_bytes().decode(errors="replace"))
    return xml.fromstring(text.encode())
