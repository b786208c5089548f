import CSodium

/// HKDF with SHA-512 (RFC 5869).
public enum HKDF {
    /// Derives a key.
    /// - Parameters:
    ///   - salt: The salt, or nil for an empty key.
    ///   - count: The length of the result, at most 16,320 bytes.
    public static func derive(
        from input: WipedBytes, salt: WipedBytes? = nil, info: String, count: Int
    ) -> WipedBytes {
        precondition(count <= 255 * length, "count exceeds 255 hashes")
        let extracted = WipedBytes(count: length) { memory in
            input.withUnsafeBytes { input in
                (salt ?? WipedBytes([])).withUnsafeBytes { authenticate([input], key: $0, into: memory) }
            }
        }
        let info = Array(info.utf8)
        return WipedBytes(count: count) { memory in
            var (done, round) = (0, UInt8(1))
            var last = WipedBytes([])
            while done < count {
                last = WipedBytes(count: length) { block in
                    extracted.withUnsafeBytes { key in
                        last.withUnsafeBytes { last in
                            info.withUnsafeBytes { info in
                                withUnsafeBytes(of: round) {
                                    authenticate([last, info, $0], key: key, into: block)
                                }
                            }
                        }
                    }
                }
                let part = min(length, count - done)
                last.withUnsafeBytes {
                    memory[done...].copyBytes(from: UnsafeRawBufferPointer(rebasing: $0[..<part]))
                }
                (done, round) = (done + part, round &+ 1)
            }
        }
    }

    private static let length = 64

    /// HMAC-SHA-512.
    private static func authenticate(
        _ pieces: [UnsafeRawBufferPointer], key: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) {
        var state = crypto_auth_hmacsha512_state()
        crypto_auth_hmacsha512_init(&state, key.bindMemory(to: UInt8.self).baseAddress!, key.count)
        for piece in pieces {
            guard let start = piece.bindMemory(to: UInt8.self).baseAddress else { continue }
            crypto_auth_hmacsha512_update(&state, start, UInt64(piece.count))
        }
        crypto_auth_hmacsha512_final(&state, target.bindMemory(to: UInt8.self).baseAddress!)
        withUnsafeMutableBytes(of: &state) { sodium_memzero($0.baseAddress, $0.count) }
    }
}
