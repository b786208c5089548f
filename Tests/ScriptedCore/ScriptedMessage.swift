import Base

/// A message with a file in the scripted core.
public struct ScriptedMessage: Sendable {
    /// Also its age: higher numbers are newer. Its file has the number `fileID`.
    public var id: Int64
    /// Its chat as in commands: `@1`, `#3`, `#3(_support:9)`, `*1`.
    public var chat: String
    public var isSent: Bool
    public var name: String
    /// The size of the plaintext in bytes.
    public var size: Int64
    /// The JSON of `fileStatus`.
    public var status = #"{"type":"rcvInvitation"}"#
    /// The path of the file: absolute, or relative to the core's files folder.
    public var path: String?
    /// The JSON of `cryptoArgs` for a CryptoFile.
    public var cryptoArguments: String?
    /// `type` of the message's content: `file`, `image`.
    public var type = "file"
    /// The preview in an image message: text of any length without quotes.
    public var preview = ""
    public var disappears = false
    /// The time in seconds since 1970, or nil for a time derived from the number.
    public var time: Int64?
    /// The reason of a stub: `deleted`, `moderated`, `blocked`, `blockedByAdmin`.
    public var deletion: String?
    /// The text of a message without a file, as in JSON, or nil with a file.
    public var text: String?

    public init(id: Int64, chat: String, isSent: Bool = false, name: String, size: Int64 = 1000) {
        self.id = id
        self.chat = chat
        self.isSent = isSent
        self.name = name
        self.size = size
    }

    public init(id: Int64, contact: Int64, name: String, size: Int64 = 1000) {
        self.init(id: id, chat: "@\(contact)", name: name, size: size)
    }

    public var fileID: Int64 { reusedFile ?? id + Self.firstFile }
    /// The number of a deleted file, which the core gives to a later one.
    public var reusedFile: Int64?

    /// `type` of the file's status.
    var statusType: String { status.firstMatch(of: /"type":"([^"]*)"/).map { String($0.1) } ?? "" }
    static let firstFile: Int64 = 1000

    /// The time in the form of the chat API.
    static func time(of id: Int64) -> String {
        func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let day = id / 86_400
        return "2026-\(two(day / 28 % 12 + 1))-\(two(day % 28 + 1))T"
            + "\(two(id / 3600 % 24)):\(two(id / 60 % 60)):\(two(id % 60)).5Z"
    }

    private static func text(_ seconds: Int64) -> String {
        let minute = String(Timestamp(seconds: seconds).iso8601.prefix(16))
        return minute + ":00Z"
    }

    /// `ChatItem` of the chat API.
    var json: String {
        let kind = chat.hasPrefix("#") ? "group" : chat.hasPrefix("*") ? "local" : "direct"
        let member =
            kind == "group" && !isSent
            ? #","groupMember":{"groupMemberId":9,"memberProfile":{"displayName":"ann"}}"# : ""
        let arguments = cryptoArguments.map { #","cryptoArgs":\#($0)"# } ?? ""
        let source =
            path.map { #","fileSource":{"filePath":"\#(escaped($0))"\#(arguments)}"# } ?? ""
        let picture = type == "image" ? #","image":"\#(preview)""# : ""
        let time = time.map(Self.text) ?? Self.time(of: id)
        let timed = disappears ? #","itemTimed":{"ttl":60,"deleteAt":"\#(time)"}"# : ""
        let deleted = deletion.map { #","itemDeleted":{"type":"\#($0)"}"# } ?? ""
        let file =
            text != nil
            ? ""
            : """
            ,"file":{"fileId":\(fileID),"fileName":"\(escaped(name))","fileSize":\(size),\
            "fileStatus":\(status),"fileProtocol":"xftp"\(source)}
            """
        return """
            {"chatDir":{"type":"\(kind)\(isSent ? "Snd" : "Rcv")"\(member)},"meta":{"itemId":\(id),\
            "itemTs":"\(time)","createdAt":"\(time)"\(timed)\(deleted)},"content":{"type":"rcvMsgContent",\
            "msgContent":{"type":"\(type)","text":"\(text ?? "")"\(picture)}}\(file)}
            """
    }
}

/// The content of a JSON string.
func escaped(_ text: String) -> String {
    text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n")
}
