"""The checksum of pages: XXH3 with 64 bits and seed 0, for more than 240 bytes, which every page has.

Source: the specification in the repository Cyan4973/xxHash, "XXH3 Algorithm Description (for large
inputs)".
"""

from __future__ import annotations

from struct import unpack_from

SHORTEST = 241
"""Bytes of the shortest input."""

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_STRIPE = 64
_STRIPES = (len(_SECRET) - _STRIPE) // 8
_MASK = (1 << 64) - 1
_PRIMES_32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
_PRIMES_64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
_AVALANCHE = 0x165667919E3779F9


def xxh3_64(data: bytes) -> int:
    """The hash of `SHORTEST` bytes or more."""
    if len(data) < SHORTEST:
        raise ValueError(f"data: got {len(data)} bytes; allowed: {SHORTEST} or more")
    (first, second, third), primes = _PRIMES_32, _PRIMES_64
    lanes = [third, primes[0], primes[1], primes[2], primes[3], second, primes[4], first]
    keys = [unpack_from("<8Q", _SECRET, 8 * stripe) for stripe in range(_STRIPES)]
    scramble = unpack_from("<8Q", _SECRET, len(_SECRET) - _STRIPE)
    stripes = (len(data) - 1) // _STRIPE
    for stripe in range(stripes):
        _accumulate(lanes, unpack_from("<8Q", data, _STRIPE * stripe), keys[stripe % _STRIPES])
        if stripe % _STRIPES == _STRIPES - 1:
            lanes = [((lane ^ lane >> 47 ^ key) * first) & _MASK for lane, key in zip(lanes, scramble, strict=True)]
    _accumulate(lanes, unpack_from("<8Q", data, len(data) - _STRIPE), unpack_from("<8Q", _SECRET, len(_SECRET) - 71))
    secret = unpack_from("<8Q", _SECRET, 11)
    merged = len(data) * primes[0]
    for lane in range(0, 8, 2):
        product = (lanes[lane] ^ secret[lane]) * (lanes[lane + 1] ^ secret[lane + 1])
        merged += (product & _MASK) ^ (product >> 64)
    merged &= _MASK
    merged = ((merged ^ merged >> 37) * _AVALANCHE) & _MASK
    return merged ^ merged >> 32


def _accumulate(lanes: list[int], values: tuple[int, ...], keys: tuple[int, ...]) -> None:
    for lane, (value, key) in enumerate(zip(values, keys, strict=True)):
        keyed = value ^ key
        other = lane ^ 1
        lanes[other] = (lanes[other] + value) & _MASK
        lanes[lane] = (lanes[lane] + (keyed & 0xFFFFFFFF) * (keyed >> 32)) & _MASK
