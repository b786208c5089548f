import Base
import Glibc
import Namespace
import Posix

/// A reader of a chat's log on a mount, which may grow. Blocks.
struct ChatLog {
    let path: String
    /// Earlier messages are skipped; nil for none.
    let start: Timestamp?
    private var offset: UInt64 = 0
    private var rest: [UInt8] = []

    init(path: String, start: Timestamp?) {
        (self.path, self.start) = (path, start)
    }

    /// Returns the path of the log of a chat on a mount. Blocks.
    /// - Parameter folder: The name of the chat's folder. If it is too long for an ending, the log is named after the
    ///   folder's inode number.
    static func path(ofChat folder: String, at mountpoint: String) -> String {
        let isTooLong = (folder + ending).utf8.count > EntryName.maxLength
        var (name, status) = (folder, stat())
        if isTooLong, lstat("\(mountpoint)/\(folder)", &status) == 0 { name = String(status.st_ino) }
        return "\(mountpoint)/.chatfs/messages/\(name)\(ending)"
    }

    private static let ending = ".jsonl"

    struct Line {
        var text: String
        /// nil for an unknown event.
        var message: LoggedMessage?
    }

    /// Returns true if the log has bytes that `next` has not returned.
    func hasGrown() throws -> Bool {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return false }
            throw PathError(path, SystemError(code: errno, operation: "read the messages"))
        }
        return UInt64(status.st_size) > offset
    }

    /// Returns the complete lines since the last call; none if the chat has no log yet.
    mutating func next() throws -> [Line] {
        var lines: [Line] = []
        try forEachNew { lines.append($0) }
        return lines
    }

    /// Calls `body` for each whole line that has come since the last call.
    /// - Parameter isWanted: Decides by the bytes of a line, before it is decoded.
    mutating func forEachNew(
        where isWanted: (ArraySlice<UInt8>) -> Bool = { _ in true }, _ body: (Line) throws -> Void
    ) throws {
        guard try hasGrown() else { return }
        let file = try naming(path) { try OpenFile(path, flags: O_RDONLY) }
        while true {
            let bytes = try naming(path) { try file.read(count: 1 << 20, at: offset) }
            if bytes.isEmpty { return }
            offset += UInt64(bytes.count)
            rest += bytes
            var parts = rest.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            rest = Array(parts.removeLast())
            for part in parts where !part.isEmpty && isWanted(part) {
                let message = try? JSONLine.decoded(LoggedMessage.self, from: Array(part))
                if let start, let time = message?.timestamp, time < start { continue }
                try body(Line(text: String(decoding: part, as: UTF8.self), message: message))
            }
        }
    }
}

/// A line of a chat's log (`docs/reference/filesystem.md`).
struct LoggedMessage: Decodable {
    struct File: Decodable {
        var name: String?
        var size: UInt64?
    }

    var event: String
    var time: String?
    var direction: String?
    var sender: String?
    var text: String?
    var file: File?
    var state: String?
    var error: String?

    var timestamp: Timestamp? { time.flatMap { Timestamp(iso8601: $0) } }

    /// Returns lines for the user; nil for an event that needs none.
    var words: [String]? {
        let when = timestamp.map { $0.text + "  " } ?? ""
        let author = direction == "sent" ? "you" : sender ?? "unknown"
        let described: String? =
            switch event {
            case "message": "\(author): \(content)"
            case "edit": "\(author), edited: \(content)"
            case "deletion": "\(author) deleted a message"
            case "state": state == "failed" ? "not sent: \(error ?? "unknown reason")" : nil
            case "keys": "new keys: the security code has changed"
            default: nil
            }
        return described.map { text in
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return lines.enumerated().map { ($0 == 0 ? when : "    ") + $1 }
        }
    }

    private var content: String {
        let attached = file.map { file in
            "[\(file.name ?? "file")\(file.size.map { ", " + ByteCount.rounded($0) } ?? "")]"
        }
        return [attached, text].compactMap { $0 }.filter { !$0.isEmpty }.joined(separator: " ")
    }
}
