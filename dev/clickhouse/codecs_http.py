"""Compression of bodies and answers: Content-Encoding, and ClickHouse's own framed blocks (decompress=1, compress=1)."""

import functools
import gzip
import zlib

from sql_text import QueryError

try:
    import lz4.block
    import lz4.frame
except ImportError:
    lz4 = None
try:
    import zstandard
except ImportError:
    zstandard = None
try:
    from clickhouse_cityhash.cityhash import CityHash128
except ImportError:
    CityHash128 = None

CHUNK = 256 << 10  # bytes read from a request body at a time, and of a compressed answer's block


def http_decode(chunks, encoding):
    """The chunks without their Content-Encoding; frames may follow each other."""
    if encoding in ("gzip", "x-gzip"):
        start = functools.partial(zlib.decompressobj, 31)
    elif encoding == "deflate":
        start = zlib.decompressobj
    elif encoding == "zstd" and zstandard:
        start = zstandard.ZstdDecompressor().decompressobj
    elif encoding == "lz4" and lz4:
        start = lz4.frame.LZ4FrameDecompressor
    else:
        raise QueryError(48, "NOT_IMPLEMENTED", f"Unknown compression method: {encoding}")
    decoder = None
    for chunk in chunks:
        while chunk:
            decoder = decoder or start()
            try:
                plain = decoder.decompress(chunk)
            except Exception as error:
                raise QueryError(271, "CANNOT_DECOMPRESS", f"Cannot decompress the {encoding} body: {error}") from None
            if plain:
                yield plain
            chunk = b""
            if decoder.eof:
                chunk, decoder = decoder.unused_data, None
    if decoder:
        raise QueryError(271, "CANNOT_DECOMPRESS", f"The {encoding} body is cut short")


def http_encode(data, accepted):
    """(encoding, data) by the client's Accept-Encoding; (None, data) for none."""
    accepted = {item.split(";")[0].strip().lower() for item in accepted.split(",")}
    if "zstd" in accepted and zstandard:
        return "zstd", zstandard.ZstdCompressor(level=1).compress(data)
    if "lz4" in accepted and lz4:
        return "lz4", lz4.frame.compress(data)
    if "gzip" in accepted:
        return "gzip", gzip.compress(data, 3)
    if "deflate" in accepted:
        return "deflate", zlib.compress(data, 3)
    return None, data


BLOCK_NONE, BLOCK_LZ4, BLOCK_ZSTD = 0x02, 0x82, 0x90


def checksum(data):
    number = CityHash128(data)
    return (number >> 64).to_bytes(8, "little") + (number & (2**64 - 1)).to_bytes(8, "little")


def native_blocks_decode(chunks):
    """decompress=1: each block is a 16-byte checksum, method, two sizes, and the data."""
    if not lz4:
        raise QueryError(48, "NOT_IMPLEMENTED", "decompress=1 needs the lz4 package")
    buffer = bytearray()
    for chunk in chunks:
        buffer += chunk
        at = 0
        while len(buffer) - at >= 25:
            size = int.from_bytes(buffer[at + 17 : at + 21], "little")
            if len(buffer) - at < 16 + size:
                break
            block = bytes(buffer[at + 16 : at + 16 + size])
            if CityHash128 and checksum(block) != buffer[at : at + 16]:
                raise QueryError(40, "CHECKSUM_DOESNT_MATCH", "Checksum doesn't match: corrupted data.")
            at += 16 + size
            plain_size = int.from_bytes(block[5:9], "little")
            if block[0] == BLOCK_LZ4:
                yield lz4.block.decompress(block[9:], uncompressed_size=plain_size)
            elif block[0] == BLOCK_NONE:
                yield block[9:]
            elif block[0] == BLOCK_ZSTD and zstandard:
                yield zstandard.ZstdDecompressor().decompress(block[9:], max_output_size=plain_size)
            else:
                raise QueryError(89, "UNKNOWN_COMPRESSION_METHOD", f"Unknown codec family code: {block[0]}")
        del buffer[:at]
    if buffer:
        raise QueryError(271, "CANNOT_DECOMPRESS", "Compressed body ends inside a block")


def native_blocks_encode(data):
    """compress=1: the same framing, LZ4, in blocks of CHUNK bytes."""
    if not (lz4 and CityHash128):
        raise QueryError(48, "NOT_IMPLEMENTED", "compress=1 needs the lz4 and clickhouse-cityhash packages")
    out = []
    for at in range(0, len(data), CHUNK):
        plain = data[at : at + CHUNK]
        packed = lz4.block.compress(plain, store_size=False)
        block = (bytes([BLOCK_LZ4]) + (len(packed) + 9).to_bytes(4, "little")
                 + len(plain).to_bytes(4, "little") + packed)
        out += (checksum(block), block)
    return b"".join(out)
