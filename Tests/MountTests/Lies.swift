import Glibc

/// A fault of a file's sender or relay, and the expected errors of a reader.
struct Lie {
    enum Change {
        /// A regular expression in the description, and its replacement.
        case replacing(String, String)
        case description(String)
        /// The longer description of the other file.
        case descriptionOfTheLonger
        case flippedBytesOnRelay
        case truncatedChunkOnRelay
    }

    /// The file's name.
    let name: String
    let code: Int32
    /// A part of `user.chatfs.error`.
    let says: String
    let change: Change

    private init(_ name: String, _ code: Int32, _ says: String, _ change: Change) {
        self.name = name
        self.code = code
        self.says = says
        self.change = change
    }

    /// True if `chatfs file receive` must fail too. It has no message whose length it could compare.
    var concernsDescription: Bool {
        switch change {
        case .description, .flippedBytesOnRelay: true
        case .replacing: code == EBADMSG || code == ENODATA
        case .descriptionOfTheLonger, .truncatedChunkOnRelay: false
        }
    }

    var isOfRelayDisk: Bool {
        switch change {
        case .flippedBytesOnRelay, .truncatedChunkOnRelay: true
        case .description, .replacing, .descriptionOfTheLonger: false
        }
    }

    /// A fingerprint of no relay.
    static let noFingerprint = String(repeating: "A", count: 43) + "="

    /// Malformed descriptions.
    static let malformed = [
        Lie("not a description", EBADMSG, "is invalid", .description("party: nobody\n")),
        Lie("control characters", EBADMSG, "is invalid", .description("\u{1}\u{7F}: {")),
        Lie(
            "100 levels in braces", EBADMSG, "is invalid",
            .description(String(repeating: "{a: ", count: 100) + String(repeating: "}", count: 100))),
        Lie(
            "100 levels of indents", EBADMSG, "is invalid",
            .description((0..<100).map { String(repeating: " ", count: $0) + "a:\n" }.joined() + "b: c\n")),
        Lie("wrong size", EBADMSG, "do not add up", .replacing("(?m)^size: .*$", "size: 64kb")),
        Lie(
            "huge size", EBADMSG, "is invalid", .replacing("(?m)^size: .*$", "size: 99999999999999999gb")),
        Lie("no chunks", EBADMSG, "is invalid", .replacing("  - [0-9]+:.*\\n", "")),
    ]

    /// Well-formed but wrong descriptions.
    static let untrue = [
        Lie(
            "wrong chunk digest", EBADMSG, "hunk 1",
            .replacing("(- 1:[^:]*:[^:]*:)[^:\\n]{8}", "\\1AAAAAAAA")),
        Lie("wrong key", EBADMSG, "header is invalid", .replacing("(?m)^key: .{8}", "key: AAAAAAAA")),
        Lie(
            "wrong nonce", EBADMSG, "header is invalid", .replacing("(?m)^nonce: .{8}", "nonce: AAAAAAAA")
        ),
        Lie("other length", EBADMSG, "differs from its message", .descriptionOfTheLonger),
        Lie("other bytes", EBADMSG, "hunk 1", .flippedBytesOnRelay),
        Lie(
            "wrong signature", ENODATA, "expired", .replacing("(- 1:[^:]*:[^:]{30})[^:]{8}", "\\1AAAAAAAA")),
        Lie("unknown chunk", ENODATA, "expired", .replacing("- 1:[^:]{8}", "- 1:AAAAAAAA")),
        Lie("truncated chunk", EHOSTUNREACH, "127.0.0.1", .truncatedChunkOnRelay),
    ]

    /// Relays that must not be contacted. `port` must see no connection.
    static func forbidden(port: String) -> [Lie] {
        [
            "127.0.0.1:\(port)", "localhost:\(port)", "0.0.0.0:\(port)", "127.1:\(port)", "[::1]:\(port)",
            "[::ffff:127.0.0.1]:\(port)", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254:80",
            "[fe80::1]", "[fd00::1]", "relay.example,127.0.0.1:\(port)",
        ].map { host in
            Lie(
                "relay at \(host)", EACCES, "chatfs approve",
                .replacing("xftp://[^@]*@.*", "xftp://\(noFingerprint)@\(host)"))
        }
    }

    /// Configured relays that misbehave.
    static func misbehaving(_ server: HostileServer, fingerprint: String) -> [(lie: Lie, relay: String)] {
        HostileServer.Way.allCases.filter { $0 != .knocked }.map { way in
            let relay = "xftp://\(fingerprint)@127.0.0.1:\(server.port(way))"
            return (
                Lie(
                    "relay of \(way.rawValue)", way == .silent ? ETIMEDOUT : EHOSTUNREACH,
                    way == .silent ? "keeps trying" : "127.0.0.1",
                    .replacing("xftp://[^@]*@.*", relay)), relay
            )
        }
    }

    /// A different relay at the configured address.
    static func impostor(at place: String) -> (lie: Lie, relay: String) {
        let relay = "xftp://\(noFingerprint)@\(place)"
        return (Lie("wrong fingerprint", EHOSTUNREACH, place, .replacing("xftp://[^@]*@.*", relay)), relay)
    }
}
