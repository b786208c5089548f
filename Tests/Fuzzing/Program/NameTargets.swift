import ChatCore
import Outbox

@testable import CoreServices
@testable import EmbeddedCore
@testable import Namespace

extension Target {
    /// Names chosen by others.
    static let names = [
        Target("file-name", "names of files, made safe", longest: 400) { bytes in
            let title = SafeFileName.make(fromTitle: bytes.text)
            for name in [SafeFileName.make(from: bytes.text), title].compactMap(\.self) {
                check(name)
                hold(SafeFileName.make(from: name).map { Array($0.utf8) } == Array(name.utf8), "safe is safe")
                for number in [2, 1_000_000] { check(SafeFileName.numbered(name, number)) }
                hold(
                    EntryName(name).numbered(2) != EntryName(name),
                    "a number tells a name from the one before")
            }
            for limit in [60, 200] {
                hold(SafeFileName.shortened(bytes.text, to: limit).utf8.count <= limit, "short is short")
            }
            _ = (TemporaryName.matches(bytes), MediaType(fileName: bytes.text), EntryName(bytes).description)
        },
        Target("entry-name", "names of entries and folders", longest: 400) { bytes in
            var input = Input(bytes)
            let kinds: [MessageContent.Kind] = [
                .text, .file, .image(preview: ""), .video(preview: "", seconds: 1), .voice(seconds: 1),
            ]
            let kind = kinds[input.number(below: kinds.count)]
            let name = input.rest().text
            let item = ChatItem(
                id: ItemID(7), chat: .direct(1), direction: .received, sender: "", time: .init(seconds: 0),
                content: MessageContent(kind: kind, text: ""),
                file: ChatFile(
                    id: FileID(1), name: name, size: 0, status: .rcvAccepted, transport: .xftp, source: nil))
            check(EntryName(of: item).description)
            let chat = Chat(reference: .direct(1), displayName: name, updatedAt: .init(seconds: 0))
            check(EntryName(of: chat).description)
        },
        Target("display-name", "names of profiles and groups", longest: 512) { bytes in
            guard let name = try? DisplayName.checked(bytes.text, of: "profile") else { return }
            hold((try? DisplayName.checked(name, of: "profile")) == name, "a checked name stays")
            hold(!name.isEmpty && name.count <= DisplayName.maxLength, "the limits hold")
        },
    ]

    /// Names that are valid in every folder and printable on every terminal.
    private static func check(_ name: String) {
        hold(!name.isEmpty && name.utf8.count <= SafeFileName.maxLength, "a name has 1 to 255 bytes")
        hold(name.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "/") }, "it can be a name")
        hold(name.utf8.first != UInt8(ascii: "."), "it is not hidden")
        hold(name.utf8.first != UInt8(ascii: "-"), "it is no option")
        hold(name != "." && name != "..", "it leads nowhere else")
    }
}
