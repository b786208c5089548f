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
    }

    /// Called on the phone's thread.
    struct Watch {
        /// With the bytes of a request so far.
        var arrives: @Sendable (Int) -> Void = { _ in }
        /// With a complete request, before it is carried out. Returns false to drop it and leave.
        var asked: @Sendable (String) -> Bool = { _ in true }
        /// With a request that was carried out, before its answer.
        var answers: @Sendable (String) -> Void = { _ in }
    }

    let core = ScriptedSimpleX()
    private let authority: CertificateAuthority
    private let encryptsFiles: Bool
    private let state = Lock(State())

    init(encryptsFiles: Bool = false) throws {
        authority = try .make()
        self.encryptsFiles = encryptsFiles
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
        phone.shared.withLock { shared in
            shared.arrives = { [weak self] count in self?.watch.arrives(count) }
        }
        try phone.confirm()
        phone.release()
        state.withLock { $0.session = phone }
    }

    func leave() { state.withLock { $0.session }?.leave() }

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
            return event.map { (#"{"type":"chatEvent","chatEvent":{"result":\#($0)}}"#, nil) }
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
            guard let response = core.answer(json["command"]?.string ?? "") else { return nil }
            let parsed = JSONValue.parse(Array(response.utf8))
            if parsed?.type == "chatCmdError", let error = parsed?["chatError"] {
                let text = String(decoding: error.source, as: UTF8.self)
                return (#"{"type":"chatResponse","chatResponse":{"error":\#(text)}}"#, nil)
            }
            return (#"{"type":"chatResponse","chatResponse":{"result":\#(response)}}"#, nil)
        case "storeFile":
            if let error = state.withLock({ $0.storeError }) {
                return (#"{"type":"protocolError","remoteProcotolError":\#(error)}"#, nil)
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
                return (
                    #"{"type":"protocolError","remoteProcotolError":{"type":"exception","someException":"gone"}}"#,
                    nil
                )
            }
            let digest = Base64URL.encode(SHA512.hash(file))
            return (#"{"type":"file","fileSize":\#(file.count),"fileDigest":"\#(digest)"}"#, file)
        default: return nil
        }
    }
}
