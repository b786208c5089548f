import Base
import ChatCore
import JSON
import RemoteControl

extension APICommand {
    /// Returns the command as one line, without control characters for any values.
    ///
    /// - Throws: `.invalidCommand` if a value cannot be in a command. The command is not sent.
    func text() throws(OfficialCoreError) -> String {
        let text = try line()
        // A control character here would be a bug and must not reach the core.
        guard text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw Self.invalid("A command would contain a line break.")
        }
        return text
    }

    private func line() throws(OfficialCoreError) -> String {
        switch self {
        case .user: return "/user"
        case .users: return "/users"
        case .setActiveUser(let user): return "/_user \(user)"
        case .createUser(let name): return try Self.createUser(name)
        case .start: return "/_start"
        case .stop: return "/_stop"
        case .suspend(let grace): return "/_app suspend \(Int64(grace / .microseconds(1)))"
        case .activate: return "/_app activate"
        case .exportArchive(let path, let temporary):
            return "/_db export \(try Self.archive(path, temporary))"
        case .importArchive(let path, let temporary):
            return "/_db import \(try Self.archive(path, temporary))"
        case .version: return "/version"
        case .filesFolder(let path): return "/_files_folder \(try Self.path(path))"
        case .temporaryFolder(let path): return "/_temp_folder \(try Self.path(path))"
        case .encryptFiles(let isOn): return "/_files_encrypt \(Self.word(isOn))"
        case .network: return "/network"
        case .relays(let user): return "/_servers \(user)"
        case .chats(let user, let count):
            return "/_get chats \(user) pcc=off count=\(count) "
                + #"{"type":"filters","favorite":false,"unread":false}"#
        case .chatPage(let chat, let page): return "/_get chat \(chat) \(page.text)"
        case .setAlias(let chat, let name): return "/_set alias \(chat) \(name)"
        case .leaveGroup(let group): return "/_leave #\(group)"
        case .joinGroup(let group): return "/_join #\(group)"
        case .deleteChat(let chat, let keepsHistory):
            return "/_delete \(chat) \(keepsHistory ? "entity" : "full") notify=on"
        case .invite, .connectionPlan, .connect, .securityCode, .verifyCode, .renewKeys, .moveQueue,
            .createAddress,
            .showAddress,
            .deleteAddress, .addressSettings, .autoAccept, .acceptRequest, .rejectRequest:
            return try aboutPeople()
        case .send(let chat, let messages):
            return "/_send \(chat) json " + JSONText.array(try messages.map(Self.json))
        case .createNotes(let folder, let messages):
            return "/_create *\(folder) json " + JSONText.array(try messages.map(Self.json))
        case .deleteItems(let chat, let items, let mode):
            return "/_delete item \(chat) \(try Self.numbers(items)) \(mode.rawValue)"
        case .markRead(let chat, let items): return "/_read chat items \(chat) \(try Self.numbers(items))"
        case .receiveFile(let file, let approved, let encrypted, let path):
            let target = try path.map { path throws(OfficialCoreError) in " " + (try Self.path(path)) } ?? ""
            return "/freceive \(file.rawValue)" + Self.choices(approved, encrypted) + target
        case .setFileToReceive(let file, let approved, let encrypted):
            return "/_set_file_to_receive \(file.rawValue)" + Self.choices(approved, encrypted)
        case .cancelFile(let file): return "/fcancel \(file.rawValue)"
        case .upload(let user, let path): return "/_upload \(user) \(try Self.path(path))"
        case .download(let user, let link, let path):
            return "/_download \(user) \(try Self.link(link)) \(try Self.path(path))"
        case .query(let statement): return "/sql chat \(try Self.selection(statement))"
        case .agentQuery(let statement): return "/sql agent \(try Self.selection(statement))"
        }
    }

    private func aboutPeople() throws(OfficialCoreError) -> String {
        switch self {
        case .invite(let user): return "/_connect \(user)"
        case .connectionPlan(let user, let link): return "/_connect plan \(user) \(try Self.link(link))"
        case .connect(let user, let link):
            let short = try link.short.map { text throws(OfficialCoreError) in " " + (try Self.link(text)) }
            return "/_connect \(user) \(try Self.link(link.full))\(short ?? "")"
        case .securityCode(let contact): return "/_get code @\(contact)"
        case .verifyCode(let contact, let code):
            let digits = code.map { " " + $0.filter { $0.isASCII && $0.isNumber || $0 == " " } } ?? ""
            return "/_verify code @\(contact)\(digits)"
        case .renewKeys(let contact): return "/_sync @\(contact) force=on"
        case .moveQueue(let contact): return "/_switch @\(contact)"
        case .createAddress(let user): return "/_address \(user)"
        case .showAddress(let user): return "/_show_address \(user)"
        case .deleteAddress(let user): return "/_delete_address \(user)"
        case .addressSettings(let user, let isAutomatic):
            let accepts = isAutomatic ? JSONText.object(["acceptIncognito": "false"]) : nil
            return "/_address_settings \(user) "
                + JSONText.object(present: ["businessAddress": "false", "autoAccept": accepts])
        case .autoAccept(let user, let isOn): return "/_auto_accept \(user) \(Self.word(isOn))"
        case .acceptRequest(let number): return "/_accept \(number)"
        case .rejectRequest(let number): return "/_reject \(number)"
        default: throw Self.invalid("This is not a command about contacts.")
        }
    }

    private static func selection(_ statement: String) throws(OfficialCoreError) -> String {
        guard statement.hasPrefix("SELECT ") else { throw Self.invalid("Only SELECT is allowed.") }
        return statement
    }

    private static func invalid(_ sentence: String) -> OfficialCoreError {
        OfficialCoreError(.invalidCommand, sentence)
    }

    private static func numbers(_ items: [ItemID]) throws(OfficialCoreError) -> String {
        guard !items.isEmpty else { throw invalid("The command names no message.") }
        return items.map { String($0.rawValue) }.joined(separator: ",")
    }

    private static func word(_ isOn: Bool) -> String { isOn ? "on" : "off" }

    private static func choices(_ approved: Bool, _ encrypted: Bool?) -> String {
        (approved ? " approved_relays=on" : "") + (encrypted.map { " encrypt=\(word($0))" } ?? "")
    }

    /// A path as the last word: it ends with the line, is not quoted, and loses trailing spaces in the core.
    private static func path(_ path: String) throws(OfficialCoreError) -> String {
        guard path.isAbsolutePath, path.utf8.count <= 4096 else {
            throw invalid("The SimpleX core takes absolute paths of at most 4096 bytes.")
        }
        guard path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), path.utf8.last != 0x20 else {
            throw invalid(
                "A path with a line break, another control character or a final space cannot be passed to "
                    + "the SimpleX core.")
        }
        return path
    }

    private static func archive(_ path: String, _ temporary: String) throws(OfficialCoreError) -> String {
        JSONText.object([
            "archivePath": JSONText.string(try Self.path(path)),
            "parentTempDirectory": JSONText.string(try Self.path(temporary)),
        ])
    }

    /// A link as one word within a command.
    private static func link(_ link: String) throws(OfficialCoreError) -> String {
        guard !link.isEmpty, link.utf8.count <= 1 << 20,
            link.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else { throw invalid("This is not a link.") }
        return link
    }

    private static func createUser(_ name: String) throws(OfficialCoreError) -> String {
        guard !name.isEmpty, name.utf8.count <= 255,
            name.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F })
        else { throw invalid("A profile's name has 1 to 255 bytes and no line breaks.") }
        let profile = JSONText.object([
            "displayName": JSONText.string(name), "fullName": JSONText.string(""),
        ])
        // The last two are new in 7.0; earlier cores ignore them.
        return "/_create user "
            + JSONText.object([
                "profile": profile, "pastTimestamp": "false", "userChatRelay": "false",
                "clientService": "false",
            ])
    }

    private static func json(_ message: APIComposedMessage) throws(OfficialCoreError) -> String {
        guard let file = message.source else {
            return JSONText.object(["msgContent": json(message.content), "mentions": "{}"])
        }
        guard message.isStored ? PhoneFileName.isClean(file.path) : file.path.isAbsolutePath,
            file.path.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { throw invalid("The staged file of a message has no usable path.") }
        let path = JSONText.string(file.path)
        let source: String
        if let arguments = file.arguments {
            guard arguments.key.count == 32, arguments.nonce.count == 24 else {
                throw invalid("The staged file of a message has no usable key.")
            }
            source = JSONText.object([
                "filePath": path,
                "cryptoArgs": JSONText.object([
                    "fileKey": JSONText.string(Base64URL.encode(arguments.key)),
                    "fileNonce": JSONText.string(Base64URL.encode(arguments.nonce)),
                ]),
            ])
        } else {
            source = JSONText.object(["filePath": path])
        }
        return JSONText.object([
            "fileSource": source, "msgContent": json(message.content), "mentions": "{}",
        ])
    }

    private static func json(_ content: MessageContent) -> String {
        let text = JSONText.string(content.text)
        return switch content.kind {
        case .text: JSONText.object(["type": JSONText.string("text"), "text": text])
        case .file: JSONText.object(["type": JSONText.string("file"), "text": text])
        case .image(let preview):
            JSONText.object([
                "type": JSONText.string("image"), "text": text, "image": JSONText.string(preview),
            ])
        case .video(let preview, let seconds):
            JSONText.object([
                "type": JSONText.string("video"), "text": text, "image": JSONText.string(preview),
                "duration": String(max(0, seconds)),
            ])
        case .voice(let seconds):
            JSONText.object([
                "type": JSONText.string("voice"), "text": text, "duration": String(max(0, seconds)),
            ])
        }
    }
}

extension APIPage {
    var text: String {
        switch self {
        case .last(let count): "count=\(count)"
        case .before(let item, let count): "before=\(item.rawValue) count=\(count)"
        case .around(let item, let count): "around=\(item.rawValue) count=\(count)"
        }
    }
}
