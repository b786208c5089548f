import Base
import ChatCore
import CommandLineKit
import Glibc

@testable import Network
@testable import OfficialCore
@testable import Posix

extension Target {
    /// Small texts with a meaning.
    static let words = [
        Target("text-forms", "base64, hexadecimal and sizes", longest: 256) { bytes in
            let text = bytes.text
            if let decoded = Base64URL.decode(text) {
                let canonical = Base64URL.encode(decoded)
                hold(unpadded(canonical) == unpadded(text), "base64 has one form")
            }
            hold(Base64URL.decode(Base64URL.encode(bytes)) == bytes, "base64 loses nothing")
            if let decoded = Hexadecimal.decode(text) {
                hold(Hexadecimal.encode(decoded) == text.lowercased(), "hexadecimal has one form")
            }
            if let size = ByteCount.parse(text) {
                hold(ByteCount.parse(ByteCount.exact(size)) == size, "a printed size is the same")
                hold(!ByteCount.rounded(size).isEmpty, "a size can be shown")
            }
        },
        Target("chat-reference", "which chat is meant", longest: 64) { bytes in
            let text = bytes.text
            if let chat = ChatReference(text) {
                hold(ChatReference(chat.description) == chat, "a printed chat is the same")
            }
            if let chat = APIChatReference(text: text) {
                hold(APIChatReference(text: chat.description) == chat, "a printed part of a chat is the same")
            }
        },
        Target("endpoint", "addresses of servers and cores", longest: 300) { bytes in
            let text = bytes.text
            if let endpoint = Endpoint(text) {
                hold(Endpoint(endpoint.description) == endpoint, "a printed endpoint is the same")
                // A name would be no address; nothing is looked up.
                _ = endpoint.isLoopback
            }
            if let core = try? OfficialCoreAddress(text), case .webSocket(let endpoint) = core {
                hold(endpoint.isLoopback, "only this machine is attached to")
            }
        },
        Target("core-time", "times of the official core", longest: 64) { bytes in
            guard let time = Timestamp(iso8601: bytes.text) else { return }
            var seconds = time_t(time.seconds)
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let year = Int(parts.tm_year) + 1900
            // A time zone may exceed the last supported year.
            guard (1678...2261).contains(year) else { return }
            let rest = time.nanoseconds - time.seconds * 1_000_000_000
            let text =
                "\(padded(year, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))T"
                + "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):"
                + "\(padded(Int(parts.tm_sec), 2)).\(padded(Int(rest), 9))Z"
            hold(Timestamp(iso8601: text) == time, "a printed time is the same")
        },
        Target("mount-table", "lines of the mount table", longest: 512) { bytes in
            for line in Array(bytes.text.utf8).split(separator: UInt8(ascii: "\n")) {
                guard let mount = MountTable.parse(line) else { continue }
                hold(mount.path.utf8.count <= line.count * 3, "a path is no longer than its line")
            }
        },
        Target("printable", "text for terminals", longest: 512) { bytes in
            let text = PrintableText.escaping(bytes.text)
            hold(PrintableText.escaping(text) == text, "what is printable stays")
            hold(
                text.unicodeScalars.allSatisfy {
                    $0 == "\t" || ($0.value >= 0x20 && !(0x7F..<0xA0).contains($0.value))
                }, "no control character is left")
        },
    ]

    private static func unpadded(_ text: String) -> Substring {
        var text = text[...]
        while text.last == "=" { text.removeLast() }
        return text
    }

    private static func padded(_ number: Int, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, count - digits.count)) + digits
    }
}
