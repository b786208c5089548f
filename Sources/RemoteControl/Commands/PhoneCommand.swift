import Base

/// A command that may be sent to a phone. The phone executes whatever it can parse, so there is no way to make one but
/// by a row of the table.
public struct PhoneCommand: Hashable, Sendable {
    public let text: String

    /// What a command does on the phone.
    public enum Effect: Hashable, Sendable {
        /// Changes nothing.
        case reads
        /// Uses the phone's storage or network, or undoes that.
        case receives
        /// Sends what the user gave this side for sending.
        case sends
        /// Changes what the user sees on the phone, or deletes: only where the user asked for that by name.
        case asked
    }

    struct Row {
        let name: String
        let arguments: [CommandArgument]
        let effect: Effect

        init(_ name: String, _ arguments: [CommandArgument] = [], _ effect: Effect) {
            self.name = name
            self.arguments = arguments
            self.effect = effect
        }
    }

    private static let chats = CommandArgument.chat(of: "@#*")
    private static let choices: [CommandArgument] = [
        .optional(["approved_relays=on"]), .optional(["encrypt=on", "encrypt=off"]),
    ]
    private static let filters = #"{"type":"filters","favorite":false,"unread":false}"#

    /// All that may be sent. A command is its name, and its arguments, each behind one space.
    static let table: [Row] = [
        Row("/user", [], .reads),
        Row("/users", [], .reads),
        Row("/version", [], .reads),
        Row(
            "/_get chats", [.number, .word(["pcc=on", "pcc=off"]), .value("count="), .word([filters])],
            .reads),
        Row("/_get chat", [chats, .value("count=")], .reads),
        Row("/_get chat", [chats, .value("before="), .value("count=")], .reads),
        Row("/_get chat", [chats, .value("after="), .value("count=")], .reads),
        Row("/_get chat", [chats, .value("around="), .value("count=")], .reads),
        Row("/_get items", [.value("count=")], .reads),
        Row("/_contacts", [.number], .reads),
        Row("/_groups", [.number], .reads),
        Row("/_get code", [.chat(of: "@")], .reads),
        // Never with a path: it would be one of the phone.
        Row("/freceive", [.number] + choices, .receives),
        Row("/_set_file_to_receive", [.number] + choices, .receives),
        Row("/fcancel", [.number], .receives),
        Row("/_send", [.chat(of: "@#"), .word(["json"]), .messages], .sends),
        Row("/_create", [.chat(of: "*"), .word(["json"]), .messages], .sends),
        Row(
            "/_delete item", [chats, .numbers, .word(["broadcast", "internal", "internalMark"])], .asked),
        Row("/_read chat items", [chats, .numbers], .asked),
    ]

    /// - Parameter isAsked: whether the user asked for just this by name.
    /// - Throws: `.notAllowed` for what is in no row, or in one that only the user's wish allows.
    public init(_ text: String, isAsked: Bool = false) throws(RemoteControlError) {
        let row = Self.table.first { row in
            (row.effect != .asked || isAsked) && Self.fits(text, row)
        }
        guard row != nil else {
            throw RemoteControlError(.notAllowed, "This command is none that may be sent to a phone.")
        }
        self.text = text
    }

    private static func fits(_ text: String, _ row: Row) -> Bool {
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { return false }
        if row.arguments.isEmpty { return text == row.name }
        guard text.hasPrefix(row.name + " ") else { return false }
        var words = text.dropFirst(row.name.count + 1)
            .split(separator: " ", omittingEmptySubsequences: false)[...]
        return row.arguments.allSatisfy { $0.take(from: &words) } && words.isEmpty
    }
}
