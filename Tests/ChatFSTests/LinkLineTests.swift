import Base
import Desktop
import Foundation
import Testing

@testable import chatfs

@Suite("Output of chatfs link list")
struct LinkLineTests {
    private static let now = Timestamp(seconds: 1_800_000_000)
    private static let (past, future) = (now.seconds - 86_400, now.seconds + 86_400)

    private func link(_ members: String) throws -> LinkDescription {
        let all = "{\"number\":1,\"name\":\"a b.txt\",\"size\":2000,\"created\":3,\(members)}"
        return try JSONDecoder().decode(LinkDescription.self, from: Data(all.utf8))
    }

    private func line(_ members: String) throws -> String {
        LinkListCommand.line(try link(members), at: Self.now)
    }

    @Test(
        "states are words in columns",
        arguments: [
            ("uploading", false, "no link yet"), ("uploaded", true, "uploaded   "),
            ("failed", false, "failed     "), ("cancelled", false, "cancelled  "),
            ("added", true, "added      "), ("lost", true, "lost       "),
        ])
    func states(state: String, hasLink: Bool, word: String) throws {
        let isAdded = ["added", "lost"].contains(state)
        let members = "\"state\":\"\(state)\",\"hasLink\":\(hasLink),\"isAdded\":\(isAdded)"
        for (end, text) in [
            ("", ""), (",\"expires\":\(Self.future)", "until 2027-01-16 08:00 +00:00"),
            (",\"expires\":\(Self.past)", "expired 2027-01-14 08:00 +00:00"),
            (",\"expires\":\(Self.now.seconds)", "expired 2027-01-15 08:00 +00:00"),
        ] {
            let line = try line(members + end)
            #expect(line.hasPrefix(word + "  2.0 kB "), "\(line)")
            #expect(line.dropFirst(24).hasPrefix(text) && line.dropFirst(57) == "a b.txt", "\(line)")
        }
    }

    @Test("problems follow names, both escaped")
    func problem() throws {
        let line = try line(
            "\"state\":\"failed\",\"hasLink\":false,\"isAdded\":false,\"problem\":\"The relay is full.\\u001b[2J\""
        )
        #expect(line.hasSuffix("a b.txt (The relay is full.\\u{1b}[2J)"), "\(line)")
        #expect(!line.unicodeScalars.contains("\u{1B}"))
    }

    @Test("lines without state keep their form")
    func older() throws {
        for (isAdded, hasLink, word) in [
            (true, true, "added"), (false, true, "uploaded"), (false, false, "no link yet"),
        ] {
            #expect(try line("\"isAdded\":\(isAdded),\"hasLink\":\(hasLink)").hasPrefix(word))
        }
    }
}
