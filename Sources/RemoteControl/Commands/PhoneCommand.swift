import Base

/// A permitted command for a phone. The phone executes everything that it can parse, so each command must match a row
/// of the table.
public struct PhoneCommand: Hashable, Sendable {
    public let text: String
    public let effect: Effect

    /// The effect of a command on the phone.
    public enum Effect: Hashable, Sendable {
        /// Changes nothing.
        case reads
        /// Uses the phone's storage or network, or reverts that.
        case receives
        /// Sends content that the user gave this side for sending.
        case sends
        /// Changes or deletes things that the user sees on the phone, only if the user named them.
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

    private static let chats = CommandArgument.part(of: "@#*")
    private static let choices: [CommandArgument] = [
        .optional(["approved_relays=on"]), .optional(["encrypt=on", "encrypt=off"]),
    ]
    private static let filters = #"{"type":"filters","favorite":false,"unread":false}"#

    /// All permitted commands: a name, and arguments after one space each.
    static let table: [Row] = [
        Row("/user", [], .reads),
        Row("/users", [], .reads),
        Row("/version", [], .reads),
        Row("/network", [], .reads),
        Row("/_servers", [.number], .reads),
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
        // Never with a path, which would be one on the phone.
        Row("/freceive", [.number] + choices, .receives),
        Row("/_set_file_to_receive", [.number] + choices, .receives),
        Row("/fcancel", [.number], .receives),
        Row("/_send", [.chat(of: "@#"), .word(["json"]), .messages], .sends),
        Row("/_create", [.chat(of: "*"), .word(["json"]), .messages], .sends),
        Row(
            "/_delete item", [chats, .numbers, .word(["broadcast", "internal", "internalMark"])], .asked),
        Row("/_read chat items", [chats, .numbers], .asked),
    ]

    /// - Parameter isAsked: Whether the user asked for this by name.
    /// - Throws: `.notAllowed` for a command in no row, or in a row that needs the user's request.
    public init(_ text: String, isAsked: Bool = false) throws(RemoteControlError) {
        let row = Self.table.first { row in
            (row.effect != .asked || isAsked) && Self.fits(text, row)
        }
        guard let row else {
            throw RemoteControlError(.notAllowed, "This command may not be sent to a phone.")
        }
        self.text = text
        effect = row.effect
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
