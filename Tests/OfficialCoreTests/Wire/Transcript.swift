import Glibc
import JSON
import Posix

@testable import OfficialCore

/// Recorded frames between a test driver and the official program 6.4.5.1.
struct Transcript: Sendable {
    struct Entry: Sendable {
        var client: String
        /// Whether the core sent the frame; otherwise the driver did.
        var isReceived: Bool
        var frame: [UInt8]
    }

    static let names = [
        "01-connect", "02-files-encrypt-off", "03-files-encrypt-on", "04-errors-cancel-etc",
    ]

    let entries: [Entry]

    init(_ name: String) throws {
        let path = Recordings.folder + "/transcripts/" + name + ".jsonl"
        let file = try OpenFile(path, flags: O_RDONLY)
        let mark = Array(#""frame": "#.utf8)
        entries = try file.readAll(limit: 16 << 20).split(separator: UInt8(ascii: "\n")).compactMap { line in
            // The frame is the last member of its line.
            guard let start = line.indices.first(where: { line[$0...].starts(with: mark) }),
                let json = JSONValue.parse(Array(line)), let client = json["client"]?.string
            else { return nil }
            return Entry(
                client: client, isReceived: json["dir"]?.string == "recv",
                frame: Array(line[(start + mark.count)...].dropLast()))
        }
    }

    static func all() throws -> [Entry] { try names.flatMap { try Transcript($0).entries } }

    /// Every frame that the core sent.
    static func received() throws -> [[UInt8]] { try all().filter(\.isReceived).map(\.frame) }
}

/// The folder of the tests' resources.
enum Recordings {
    static let folder: String = {
        var parts = #filePath.split(separator: "/")
        parts.removeLast(2)
        return "/" + parts.joined(separator: "/") + "/Resources"
    }()
}
