"""Bytes to messages, addresses, JSON: what reads no socket."""

import random
import time
import unittest

from patchbay import body, uri
from patchbay.secret import Secret
from patchbay.wire import Framed, Lines, WireError, read_fields


class Codecs(unittest.TestCase):
    FRAMES = b"Content-Length: 2\r\n\r\n{}CONTENT-LENGTH:\t007 \r\nX-A: b\r\n\r\n[1,2,3]" + b"Content-Length: 3\r\nx:\r\n\r\n\xc3\xb11"
    EXPECTED = [(b"", b"{}"), (b"X-A: b\r\n", b"[1,2,3]"), (b"x:\r\n", b"\xc3\xb11")]

    def test_frames_however_they_are_cut(self):
        for first in range(len(self.FRAMES) + 1):
            for second in range(first, len(self.FRAMES) + 1):
                wire = Framed()
                parts = self.FRAMES[:first], self.FRAMES[first:second], self.FRAMES[second:]
                self.assertEqual([message for part in parts for message in wire.feed(part)], self.EXPECTED)
                self.assertEqual(len(wire._partial), 0)

    def test_cuts_in_a_header_block_of_each_length(self):
        for count in range(1, 1200):
            body_text = b"x" * count
            frame = Framed().frame(body_text)
            for at in range(1, len(frame) - count + 1):
                wire = Framed()
                self.assertEqual(wire.feed(frame[:at]) + wire.feed(frame[at:]), [(b"", body_text)])

    def test_lines_however_they_are_cut(self):
        text = b'{}\r\n \n[1]\n\n{"a":1}\n'
        for first in range(len(text) + 1):
            for second in range(first, len(text) + 1):
                wire = Lines()
                got = [message for part in (text[:first], text[first:second], text[second:]) for message in wire.feed(part)]
                self.assertEqual(got, [(b"", b"{}"), (b"", b"[1]"), (b"", b'{"a":1}')])

    def test_what_is_written_is_read(self):
        for wire in (Framed, Lines):
            reader = wire()
            for size in (1, 10, 70_000):
                self.assertEqual([one for _, one in reader.feed(wire().frame(b"x" * size))], [b"x" * size])
        self.assertEqual(Framed().frame(b"{}", b"A: b\r\n"), b"Content-Length: 2\r\nA: b\r\n\r\n{}")

    def test_bad_frames(self):
        for bad in (
            b"Content-Length: 0\r\n\r\n",
            b"Content-Length: +5\r\n\r\n",
            b"Content-Length: -5\r\n\r\n",
            b"Content-Length: 5, 5\r\n\r\n",
            b"Content-Length: 0x5\r\n\r\n",
            b"Content-Length: \xb2\r\n\r\n",
            b"Content-Length: 1_0\r\n\r\n",
            b"Content-Length: \r\n\r\n",
            b"Content-Length: 12345678901\r\n\r\n",
            b"Content-Length: 9999999999\r\n\r\n",
            b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
            b"Content-Length : 2\r\n\r\n{}",
            b"Content-Length: 2\nX: y\r\n\r\n{}",
            b"X: y\r\n\r\n{}",
            b"HTTP/1.1 400 Bad Request\r\n\r\n",
            b"\r\n\r\n",
            b"x" * 70_000,
        ):
            with self.assertRaises(WireError, msg=bad[:40]):
                Framed().feed(bad)

    def test_limits(self):
        self.assertEqual(len(Framed(10).feed(b"Content-Length: 10\r\n\r\n0123456789")), 1)
        with self.assertRaises(WireError):
            Framed(10).feed(b"Content-Length: 11\r\n\r\n")
        self.assertEqual(len(Lines(10).feed(b"0123456789\n")), 1)
        with self.assertRaises(WireError):
            Lines(10).feed(b"01234567890\n")
        with self.assertRaises(WireError):
            Lines(10).feed(b"01234567890")

    def test_noise_never_does_worse_than_an_error(self):
        chance = random.Random(1)
        pieces = [b"Content-Length: ", b"\r\n", b"\r\n\r\n", b"5", b"{}", b":", b" ", b"\x00", b"\xff", b"x"]
        for _ in range(5000):
            data = b"".join(chance.choice(pieces) for _ in range(chance.randrange(20)))
            for wire in (Framed(100), Lines(100)):
                try:
                    for fields, _text in wire.feed(data):
                        read_fields(fields)
                except WireError:
                    pass

    def test_large_frames_are_not_copied_again_and_again(self):
        wire, chunk = Framed(), b"x" * 65536
        self.assertEqual(wire.feed(b"Content-Length: %d\r\n\r\n" % (256 * len(chunk))), [])
        for _ in range(255):
            self.assertEqual(wire.feed(chunk), [])
        ((_, text),) = wire.feed(chunk)
        self.assertEqual(len(text), 256 * len(chunk))


class Bodies(unittest.TestCase):
    def test_values(self):
        for value in (None, True, 1, -1.5, 10**20, "añ\ud800\u2028\n", [1, [2]], {"a": {"b": []}}):
            self.assertEqual(body.decode(body.encode(value)), value)
        self.assertEqual(body.decode(b" \r\n{}\t "), {})

    def test_what_is_not_json(self):
        for text in (b"", b"{", b"{} {}", b"NaN", b"[Infinity]", b"\xff", b"[1,]", b"[" * 100_000, b"1" * 5000 if hasattr(__import__("sys"), "set_int_max_str_digits") else b"{"):
            with self.assertRaises(body.Unreadable, msg=text[:20]):
                body.decode(text)

    def test_outline(self):
        self.assertEqual(body.outline(b'{"jsonrpc":"2.0","id":7,"method":"m","params":{"id":8,"a":[1,,2]}}'), {"id": 7, "method": None})
        self.assertEqual(body.outline(b' {"result":[nope,"]}\\""], "id" : "a\\"b" } '), {"result": None, "id": 'a"b'})
        self.assertEqual(body.outline(b'{"params":' + b"[" * 5000 + b"]" * 5000 + b',"method":"m","id":1}'), {"method": None, "id": 1})
        self.assertEqual(body.outline(b'{"id":[1],"error":x}'), {"id": None, "error": None})
        self.assertEqual(body.outline(b'{"a":[{"id":2},"]}\\\\",["\\\\\\""]],"id":3,"method":"\\\\"}'), {"id": 3, "method": None})
        for text in (b"", b"[]", b"hello", b"{", b"{}", b'{"a":1}', b'{"id":1', b'"id"', b'{"id":1}}', b'{"id":1]', b'{"id":1,"a":[[}'):
            with self.assertRaises(body.Unreadable, msg=text):
                body.outline(text)


    def test_outline_costs_no_more_than_the_text_is_worth(self):
        """A peer can send such texts: what takes long here keeps everything else of the program waiting."""

        def seconds(function, text):
            begin = time.process_time()
            function(text)
            return time.process_time() - begin

        count = 200_000
        good = min(seconds(body.decode, b"[%b1]" % (b'{"a":1},' * (count // 2))) for _ in range(3))
        for one, other in ((b"[", b"]"), (b'{"a":', b"}"), (b"[1,", b"]"), (b"[],", b""), (b"1,", b""), (b'"a",', b"")):
            text = b'{"id":1,"method":"m","params":[' + one * count + b"NaN" + other * count + b"]}"
            self.assertLess(min(seconds(body.outline, text) for _ in range(3)), 20 * good, one)


class Addresses(unittest.TestCase):
    def test_good(self):
        for text, host, port in (
            ("tcp://127.0.0.1:7411", "127.0.0.1", 7411),
            ("tcp-lines://[::1]:1", "::1", 1),
            ("tls://hub.example:65535", "hub.example", 65535),
            ("tls-lines://localhost:1", "localhost", 1),
            ("tcp://a-b.c1:1", "a-b.c1", 1),
        ):
            address = uri.parse(text)
            self.assertEqual((address.host, address.port, address.secure, address.lines), (host, port, text.startswith("tls"), "-lines" in text))
        for text in ("unix:///run/hub.sock", "unix-lines:///run/hub.sock", "unix:///run/hub.sock?mode=0660&group=agents"):
            self.assertEqual(uri.parse(text).path, "/run/hub.sock")

    def test_bad(self):
        for text in (
            "ws://127.0.0.1:7412", "wss://127.0.0.1:7412", "http://127.0.0.1:1", "127.0.0.1:7411", "tcp://127.0.0.1", "tcp://127.0.0.1:", "tcp://127.0.0.1:65536",
            "tcp://127.0.0.1:1/", "tcp://127.0.0.1:+1", "tcp://:1", "tcp://256.0.0.1:1", "tcp://127.1:1", "tcp://::1:1", "tcp://[127.0.0.1]:1", "tcp://[::1:1", "tcp://a_b:1",
            "tcp://user@host:1", "TCP://127.0.0.1:1", "tcp-:// 1", "tcp-frames://127.0.0.1:1", "tls-//h:1", "unix://run/hub.sock", "unix:///", "unix:///a/", "unix:///" + "a" * 200,
            "unix:///a?mode=9", "unix:///a?mode=0660&mode=0660", "unix:///a?", "tcp://127.0.0.1:1 ", " tcp://127.0.0.1:1", "tcp://127.0.0.1:٣", "",
        ):
            with self.assertRaises(ValueError, msg=text):
                uri.parse(text)


class Secrets(unittest.TestCase):
    def test_token_in_an_error(self):
        self.assertEqual(Secret("t").scrub({"t": ["a t", 5]}), {"***": ["a ***", 5]})
        self.assertEqual(Secret("").scrub({"a": ["b", None]}), {"a": ["b", None]})


if __name__ == "__main__":
    unittest.main()
