import Glibc
import Posix

/// A file from a phone, with the official program in its place, to a mount of the embedded core and to one of the
/// official core. Both people are contacts of the phone over the same official relays.
struct ArrivalMeasure: Measure {
    let name = "arrival"
    let abstract =
        "from the official client's send to the first byte in a folder, beside the official core"
    let limit = Duration.seconds(600)

    func take(on stage: Stage) async throws -> [Row] {
        let programs = try OfficialPrograms.find(stage.plan, OfficialChatProgram.programs)
        let phone = try await Phone.start(programs, on: stage)
        let own = try await phone.connectOwnCore()
        let official = try await phone.connectOfficialCore()
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for repetition in 0..<stage.plan.repetitions {
            ours.append(try await phone.send("own-\(repetition).bin", to: own) * 1000)
            theirs.append(try await phone.send("official-\(repetition).bin", to: official) * 1000)
        }
        return [
            Row(
                "arrival-first-byte", "1 MiB from the official client's send to its first byte in a folder",
                .milliseconds, ours, beside: Reference("with the official core under ChatFS", theirs),
                target: .ratioAtMost(1))
        ]
    }
}

/// The official program in place of a phone, and its contacts.
private struct Phone: Sendable {
    private static let size = 1 << 20

    let stage: Stage
    let programs: OfficialPrograms
    let messages: OfficialRelay
    let files: OfficialRelay
    let program: OfficialChatProgram

    /// A recipient, and the folder of the received file.
    struct Receiver: Sendable {
        let contact: Int64
        let folder: String
    }

    static func start(_ programs: OfficialPrograms, on stage: Stage) async throws -> Phone {
        let messages = try await OfficialRelay.startForMessages(programs, "messages", on: stage)
        let files = try await OfficialRelay.start(programs, "phone-relay", on: stage)
        let program = try await OfficialChatProgram.start(
            "phone", programs, messages: messages, files: files, on: stage)
        return Phone(stage: stage, programs: programs, messages: messages, files: files, program: program)
    }

    func connectOwnCore() async throws -> Receiver {
        let link = try await program.invitation(short: true, on: stage)
        let data = ["--data", stage.path("data")]
        try await stage.run(
            Stage.chatfs,
            ["accept", link, "--profile", "reader", "--server", messages.address, "--relay", files.address]
                + data)
        return try await mount("reader", data)
    }

    func connectOfficialCore() async throws -> Receiver {
        let other = try await OfficialChatProgram.start(
            "other", programs, messages: messages, files: files, on: stage)
        let link = try await program.invitation(short: false, on: stage)
        try await other.command("/connect \(link)", on: stage)
        try await program.event("contactConnected", with: "\"other\"", on: stage)
        try await other.event("contactConnected", with: "\"phone\"", on: stage)
        return try await mount(
            "other",
            [
                "--core", "ws://127.0.0.1:\(other.port)", "--files-folder", other.files, "--data",
                stage.path("other-data"),
            ])
    }

    private func mount(_ name: String, _ options: [String]) async throws -> Receiver {
        let folder = try await stage.mount(name, options).file("phone")
        try await stage.wait(for: "the folder of the phone") { access(folder, F_OK) == 0 }
        return Receiver(contact: try await program.contact(named: name, on: stage), folder: folder)
    }

    /// Returns the seconds from the send command until the first byte was read from the folder.
    func send(_ name: String, to receiver: Receiver) async throws -> Double {
        let (source, received) = (program.files + "/" + name, receiver.folder + "/" + name)
        let seed = UInt64(receiver.contact)
        try await ThreadPool.shared.run { () throws(SystemError) in
            try FileWork.make(source, size: Self.size, seed: seed)
        }
        try await stage.settle()
        let start = ContinuousClock.now
        try await program.send(name, to: receiver.contact, on: stage)
        // The core offers it before the relay has it; a reader then waits.
        try await stage.wait(for: "\(name) in its folder") { access(received, F_OK) == 0 }
        let shown = FileWork.seconds(since: start)
        let (reading, sum) = try await ThreadPool.shared.run {
            () throws(SystemError) -> (FileWork.Reading, UInt64) in
            (try FileWork.read(received), try FileWork.read(source).sum)
        }
        guard reading.sum == sum else {
            throw BenchError(.wrong, "The mount gave other bytes than the phone sent.")
        }
        return shown + reading.first
    }
}
