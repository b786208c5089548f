import Base
import Cryptography
import JSON
import Network
import ScriptedCore

@testable import RemoteControl

/// A phone with chats and files: a scripted core behind a scripted phone, the same over several sessions.
final class ChatPhone: Sendable {
    private struct State {
        /// By their names in its folder of files, as they lie there.
        var files: [String: [UInt8]] = [:]
        var events: [String] = []
        var session: ScriptedPhone?
        /// Whether the session breaks instead of the answer to a request that begins so.
        var breaks: String?
        var requests: [String] = []
        var watch = Watch()
        /// The error that it answers in place of storing a file.
        var storeError: String?
        /// Its keys of the last two sessions, the newest first: a phone has no more.
        var keys: [AgreementKey] = []
        var activeUser: Int64 = 1
    }

    /// Called on the phone's thread.
    struct Watch {
        /// With the bytes of a request so far.
        var arrives: @Sendable (Int) -> Void = { _ in }
        /// The same with the bytes of an answer.
        var sends: @Sendable (Int) -> Void = { _ in }
        /// With a complete request, before it is carried out. Returns false to drop it and leave.
        var asked: @Sendable (String) -> Bool = { _ in true }
        /// With a request that was carried out, before its answer.
        var answers: @Sendable (String) -> Void = { _ in }
    }

    let core = ScriptedSimpleX()
    private let authority: CertificateAuthority
    private let encryptsFiles: Bool
    /// Whether it writes alternatives as an iPhone does.
    private let isIPhone: Bool
    private let state = Lock(State())

    init(encryptsFiles: Bool = false, isIPhone: Bool = false) throws {
        authority = try .make()
        self.encryptsFiles = encryptsFiles
        self.isIPhone = isIPhone
        core.connect(
            tells: { [weak self] json in self?.state.withLock { $0.events.append(json) } },
            breaks: { [weak self] in self?.leave() })
    }

    /// Scans a link, and its user says yes.
    func connect(to link: String) throws {
        let phone = try ScriptedPhone(link: link, authority: authority) { [weak self] json, attachment in
            self?.answer(json, attachment)
        }
        phone.encryptsFiles = encryptsFiles
        if isIPhone { phone.encoding = "swift" }
        phone.shared.withLock { shared in
            shared.arrives = { [weak self] count in self?.watch.arrives(count) }
            shared.sends = { [weak self] count in self?.watch.sends(count) }
        }
        state.withLock { $0.keys = [phone.agreement] + $0.keys.prefix(1) }
        try phone.confirm()
        phone.release()
        state.withLock { $0.session = phone }
    }

    func leave() { state.withLock { $0.session }?.leave() }

    /// Ends the session without close_notify, as when its process is killed.
    func breakOff() { state.withLock { $0.session }?.hangUp() }

    var keys: [AgreementKey] { state.withLock { $0.keys } }

    /// The most requests for an event that waited at once in this session.
    var mostWaitingForEvent: Int {
        state.withLock { $0.session }?.shared.withLock { $0.mostWaitingForEvent } ?? 0
    }

    /// Its user switches to another profile.
    func activate(user: Int64) { state.withLock { $0.activeUser = user } }

    func watch(_ watch: Watch) { state.withLock { $0.watch = watch } }
    private var watch: Watch { state.withLock { $0.watch } }

    /// Whether its process is stopped.
    func freeze(_ isFrozen: Bool) { state.withLock { $0.session }?.freeze(isFrozen) }

    /// - Parameter error: JSON of the error that it answers to `storeFile`; nil to store files.
    func failStoring(_ error: String?) { state.withLock { $0.storeError = error } }

    /// The session ends once, after a request of this type or command was carried out and before it is answered.
    func breakAfter(_ word: String) { state.withLock { $0.breaks = word } }

    func put(_ bytes: [UInt8], as name: String) { state.withLock { $0.files[name] = bytes } }
    func remove(_ name: String) { state.withLock { $0.files[name] = nil } }
    var files: [String: [UInt8]] { state.withLock { $0.files } }
    /// Requests for files so far.
    func count(of type: String) -> Int { state.withLock { $0.requests.count { $0 == type } } }

    private func answer(_ text: String, _ attachment: [UInt8]?) -> (json: String, file: [UInt8]?)? {
        guard let json = JSONValue.parse(Array(text.utf8)) else { return nil }
        let type = json["type"]?.string ?? ""
        if type == "recv" {
            let event = state.withLock { $0.events.isEmpty ? nil : $0.events.removeFirst() }
            return event.map { (#"{"type":"chatEvent","chatEvent":{"result":\#(encoded($0))}}"#, nil) }
        }
        state.withLock { $0.requests.append(type) }
        let watch = watch
        guard watch.asked(text) else {
            leave()
            return nil
        }
        let answer = carryOut(type, json, attachment)
        watch.answers(text)
        let isBreak = state.withLock { state in
            guard let word = state.breaks, type == word || text.contains(word) else { return false }
            state.breaks = nil
            return true
        }
        if isBreak { leave() }
        return isBreak ? nil : answer
    }

    private func carryOut(
        _ type: String, _ json: JSONValue, _ attachment: [UInt8]?
    ) -> (json: String, file: [UInt8]?)? {
        switch type {
        case "send":
            guard var response = core.answer(json["command"]?.string ?? "") else { return nil }
            if json["command"]?.string == "/user" {
                let user = state.withLock { $0.activeUser }
                response = response.replacing(#""userId":1"#, with: #""userId":\#(user)"#)
            }
            let parsed = JSONValue.parse(Array(response.utf8))
            if parsed?.type == "chatCmdError", let error = parsed?["chatError"] {
                let text = String(decoding: error.source, as: UTF8.self)
                return (#"{"type":"chatResponse","chatResponse":{"error":\#(encoded(text))}}"#, nil)
            }
            return (#"{"type":"chatResponse","chatResponse":{"result":\#(encoded(response))}}"#, nil)
        case "storeFile":
            if let error = state.withLock({ $0.storeError }) {
                return Self.failure(encoded(error))
            }
            let wanted = json["fileName"]?.string ?? ""
            let name = state.withLock { state in
                var (name, number) = (wanted, 0)
                while state.files[name] != nil {
                    number += 1
                    name = "\(number)_\(wanted)"
                }
                state.files[name] = attachment ?? []
                return name
            }
            return (#"{"type":"fileStored","filePath":\#(JSONText.string(name))}"#, nil)
        case "getFile":
            let path = json["file"]?["fileSource"]?["filePath"]?.string ?? ""
            guard let file = state.withLock({ $0.files[path] }) else {
                let text = "\(Self.folder)/\(path): openBinaryFile: does not exist"
                return Self.failure(encoded(#"{"type":"exception","someException":"\#(text)"}"#))
            }
            let digest = Base64URL.encode(SHA512.hash(file))
            return (#"{"type":"file","fileSize":\#(file.count),"fileDigest":"\#(digest)"}"#, file)
        default: return nil
        }
    }

    /// The path of its folder of files, which errors contain.
    static let folder = "/data/user/0/chat.simplex.app/files/app_files"

    private static func failure(_ error: String) -> (json: String, file: [UInt8]?) {
        (#"{"type":"protocolError","remoteProcotolError":\#(error)}"#, nil)
    }

    private func encoded(_ json: String) -> String {
        guard isIPhone, let value = JSONValue.parse(Array(json.utf8)) else { return json }
        return Self.oneFieldObject(value)
    }

    /// Writes each alternative `{"type":"x",…}` as `{"_owsf":true,"x":{…}}`. The content of messages has one
    /// form everywhere.
    private static func oneFieldObject(_ value: JSONValue, as name: String = "") -> String {
        if value.source.first == UInt8(ascii: "[") {
            return JSONText.array(value.elements.map { oneFieldObject($0) })
        }
        guard value.isObject else { return String(decoding: value.source, as: UTF8.self) }
        let type = name == "msgContent" ? nil : value["type"]?.string
        let members = value.members.filter { type == nil || $0.name != "type" }.map { member in
            JSONText.string(member.name) + ":" + oneFieldObject(member.value, as: member.name)
        }
        let object = "{" + members.joined(separator: ",") + "}"
        return type.map { #"{"_owsf":true,\#(JSONText.string($0)):\#(object)}"# } ?? object
    }
}
