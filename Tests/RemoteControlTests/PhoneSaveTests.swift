import Base
import Glibc
import Posix
import ScriptedCore
import TestSupport
import Testing

/// `chatfs phone save` with a scripted phone that scans its link.
@Suite(.serialized)
struct PhoneSaveTests {
    private struct Place {
        let folder: TemporaryFolder
        let phone: ChatPhone

        /// Files by name: received on the phone with `path`, or only offered.
        init() throws {
            folder = try TemporaryFolder()
            let phone = try ChatPhone()
            self.phone = phone
            phone.core.whenReceiving { [weak phone] message in
                phone?.put(Array(message.name.utf8), as: message.name)
                phone?.core.complete(message.id, path: message.name, cryptoArguments: nil)
            }
        }

        func add(_ id: Int64, _ name: String, isThere: Bool, hoursAgo: Int64 = 1) {
            var message = ScriptedMessage(id: id, contact: 1, name: name, size: Int64(name.utf8.count))
            message.time = Int64(Glibc.time(nil)) - hoursAgo * 3600
            if isThere {
                message.status = #"{"type":"rcvComplete"}"#
                message.path = name
                phone.put(Array(name.utf8), as: name)
            }
            phone.core.change { $0.history.append(message) }
        }

        /// Starts the command and connects the phone.
        func begin(_ more: [String] = []) async throws -> RunningProcess {
            let saving = try await ChatFSProcess.start(
                [
                    "phone", "save", "--all", folder.path("Backup"), "--listen", "127.0.0.1", "--data",
                    folder.path("data"),
                ] + more, environment: ["HOME": folder.path])
            let link = try await wait(for: "a link") { saving.lines.first { $0.hasPrefix("xrcp:/") } }
            try phone.connect(to: link)
            return saving
        }

        /// Runs the command until its end.
        func save(_ more: [String] = []) async throws -> (ending: ChildProcess.Ending, errors: String) {
            let saving = try await begin(more)
            return (try await saving.ending(), saving.errors)
        }

        var received: [String] { phone.core.commands.filter { $0.hasPrefix("/freceive") } }
        /// The files of the chat, without its log.
        func saved() throws -> Set<String> {
            Set(try folder.names(in: "Backup/bob")).subtracting(["messages.jsonl"])
        }
    }

    @Test func receivesMissingFilesSoonExpiredFirst() async throws {
        let place = try Place()
        place.add(1, "old.bin", isThere: false, hoursAgo: 400)
        place.add(2, "soon.bin", isThere: false, hoursAgo: 47)
        place.add(3, "later.bin", isThere: false, hoursAgo: 3)
        place.add(4, "there.bin", isThere: true)
        let (ending, errors) = try await place.save()
        #expect(ending == .code(0), "\(errors)")
        #expect(place.received == ["/freceive 1002 encrypt=on", "/freceive 1003 encrypt=on"])
        #expect(try place.saved() == ["soon.bin", "later.bin", "there.bin"])
        #expect(errors.contains("phone's storage") && errors.contains("3 written"))
        #expect(errors.contains("old.bin: It was never received"))
        #expect(try place.folder.read("Backup/bob/soon.bin") == Array("soon.bin".utf8))
    }

    @Test func textsAreSavedToo() async throws {
        let place = try Place()
        place.add(1, "messages.jsonl", isThere: true)
        for round in 2...3 {
            var text = ScriptedMessage(id: Int64(round), contact: 1, name: "")
            (text.type, text.text) = ("text", "text \(round)")
            place.phone.core.change { [text] in $0.history.append(text) }
            let (ending, errors) = try await place.save()
            #expect(ending == .code(0), "\(errors)")
            let lines = String(decoding: try place.folder.read("Backup/bob/messages.jsonl"), as: UTF8.self)
                .split(separator: "\n")
            #expect(lines.count == round && lines.last?.contains("text \(round)") == true, "\(lines)")
        }
        // A file of that name has a number.
        #expect(
            try place.folder.read("Backup/bob/messages (2).jsonl") == Array("messages.jsonl".utf8))
    }

    @Test func anotherProfileIsNamedAndAwaited() async throws {
        let place = try Place()
        place.add(1, "there.bin", isThere: true)
        #expect(try await place.save().ending == .code(0))
        place.add(2, "later.bin", isThere: true)
        place.phone.activate(user: 2)
        let saving = try await place.begin()
        try await wait(until: "it names the profile") {
            saving.errors.contains("The phone shows another profile: choose “alice”")
        }
        #expect(saving.isRunning)
        place.phone.leave()
        place.phone.activate(user: 1)
        let link = try await wait(for: "another link") {
            let links = saving.lines.filter { $0.hasPrefix("xrcp:/") }
            return links.count > 1 ? links.last : nil
        }
        try place.phone.connect(to: link)
        #expect(try await saving.ending() == .code(0), "\(saving.errors)")
        #expect(try place.saved() == ["there.bin", "later.bin"])
    }

    @Test func policyAndLimitReceiveNothing() async throws {
        let place = try Place()
        place.add(1, "large.bin", isThere: false)
        place.add(2, "there.bin", isThere: true)
        #expect(try await place.save(["--policy", "phone-only"]).ending == .code(0))
        let (ending, errors) = try await place.save(["--receive-limit", "3"])
        #expect(ending == .code(0) && errors.contains("large.bin: It is not on the phone"))
        #expect(place.received.isEmpty)
        #expect(try place.saved() == ["there.bin"])
    }

    @Test func refusedHistoryIsReportedAndTheRestIsSaved() async throws {
        let place = try Place()
        place.add(1, "there.bin", isThere: true)
        place.phone.core.change { state in
            state.contacts[8] = "carol"
            state.history.append(ScriptedMessage(id: 2, contact: 8, name: "hidden.bin", size: 1))
            state.refusals["/_get chat @8"] = #"{"type":"errorStore","storeError":{"type":"groupNotFound"}}"#
        }
        let (ending, errors) = try await place.save()
        #expect(ending == .code(1), "\(errors)")
        #expect(errors.contains("carol: The phone did not show all messages"), "\(errors)")
        #expect(try place.saved() == ["there.bin"])
    }

    @Test func folderOfTheDesktopAppIsNotUsed() async throws {
        let place = try Place()
        place.add(1, "there.bin", isThere: true)
        _ = try place.folder.makeFolder(".simplex")
        _ = try place.folder.makeFolder(".simplex/simplex_v1_files")
        #expect(try await place.save().ending == .code(0))
        #expect(try place.folder.names(in: ".simplex/simplex_v1_files").isEmpty)
        #expect(try place.saved() == ["there.bin"])
    }

    @Test func chatNamedLikeTheManifestIsSaved() async throws {
        let place = try Place()
        place.phone.core.change { $0.contacts[1] = "manifest.json" }
        place.add(1, "there.bin", isThere: true)
        for _ in 1...2 {
            let (ending, errors) = try await place.save()
            #expect(ending == .code(0), "\(errors)")
        }
        let saved = try place.folder.names(in: "Backup/manifest (2).json")
        #expect(saved.sorted() == ["messages.jsonl", "there.bin"])
    }

    @Test func nextRunContinuesAfterThePhoneLeft() async throws {
        let place = try Place()
        for number in 1...5 { place.add(Int64(number), "\(number).bin", isThere: true) }
        place.phone.breakAfter(#""fileId":1003"#)
        let (ending, errors) = try await place.save()
        #expect(ending == .code(1))
        #expect(errors.contains("The phone left before the end. 2 of 5 files are saved."), "\(errors)")
        #expect(try place.saved() == ["1.bin", "2.bin"])
        #expect(try await place.save().ending == .code(0))
        #expect(try place.saved().count == 5)
        #expect(place.phone.count(of: "getFile") == 6, "the interrupted one is fetched again")
    }

    @Test func fullPhoneIsReportedAndTheRestIsSaved() async throws {
        let place = try Place()
        place.add(1, "full.bin", isThere: false)
        place.add(2, "there.bin", isThere: true)
        place.phone.core.whenReceiving { [weak phone = place.phone] message in
            let full = "writeFile: resource exhausted (No space left on device)"
            let failed = phone?.core.change { state in
                state.history.change(message.id) {
                    $0.status = #"{"type":"rcvError","rcvFileError":{"type":"other","fileError":"\#(full)"}}"#
                }
            }
            phone?.core.tell(
                "rcvFileError", failed ?? message,
                more: #","rcvFileTransfer":{"fileId":\#(message.fileID)},"#
                    + #""agentError":{"type":"INTERNAL","internalErr":"\#(full)"}"#)
        }
        let (ending, errors) = try await place.save()
        #expect(ending == .code(0), "\(errors)")
        #expect(errors.contains("full.bin: SimpleX has no space left to store this file."), "\(errors)")
        #expect(try place.saved() == ["there.bin"])
    }

    @Test func killsDuplicateAndLoseNothing() async throws {
        let place = try Place()
        for number in 1...30 { place.add(Int64(number), "\(number).bin", isThere: true) }
        for round in 1...5 {
            let saving = try await ChatFSProcess.start(
                [
                    "phone", "save", "--all", place.folder.path("Backup"), "--listen", "127.0.0.1", "--data",
                    place.folder.path("data"),
                ], environment: ["HOME": place.folder.path])
            let link = try await wait(for: "a link") { saving.lines.first { $0.hasPrefix("xrcp:/") } }
            try place.phone.connect(to: link)
            try await wait(until: "some are fetched") {
                place.phone.count(of: "getFile") >= round * 3 || !saving.isRunning
            }
            saving.send(SIGKILL)
            _ = try await saving.ending()
        }
        let (ending, errors) = try await place.save()
        #expect(ending == .code(0), "\(errors)")
        #expect(try place.saved() == Set((1...30).map { "\($0).bin" }))
        for number in 1...30 {
            let content = try place.folder.read("Backup/bob/\(number).bin")
            #expect(content == Array("\(number).bin".utf8))
        }
    }

    @Test func fullDiskSaysSo() async throws {
        let place = try Place()
        place.add(1, "small.bin", isThere: true)
        place.add(2, "large.bin", isThere: true)
        place.phone.core.change { state in state.history.change(2) { $0.size = 4 << 20 } }
        place.phone.put([UInt8](repeating: 7, count: 4 << 20), as: "large.bin")
        // Files of at most 2 MiB, as on a disk with so much room.
        var settings = ChildProcess.Settings(
            "/bin/sh",
            [
                "-c", #"ulimit -f 4096; trap "" XFSZ; exec "$0" "$@""#, ChatFSProcess.path, "phone", "save",
                "--all", place.folder.path("Backup"), "--listen", "127.0.0.1", "--data",
                place.folder.path("data"), "--no-encryption",
            ])
        settings.environment = ["HOME": place.folder.path, "XDG_CONFIG_HOME": "/nonexistent"]
        let saving = try await RunningProcess.start(settings)
        let link = try await wait(for: "a link") { saving.lines.first { $0.hasPrefix("xrcp:/") } }
        try place.phone.connect(to: link)
        #expect(try await saving.ending() == .code(1))
        #expect(saving.errors.contains("The disk is full. 1 of 2 files are saved."), "\(saving.errors)")
    }
}
