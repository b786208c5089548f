import Posix

/// A small and a large file through two mounts, and through the commands without a mount.
struct TransferMeasure: Measure {
    let name = "transfers"
    let abstract =
        "16 MiB and 256 MiB copied in, read cold, and by chatfs file"

    func take(on stage: Stage) async throws -> [Row] {
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        let bob = try await chats.mount("bob", relays: [relay.address])
        var rows: [Row] = []
        for size in stage.plan.transferFiles {
            let source = stage.plain("\(size).bin")
            try await ThreadPool.shared.run { try FileWork.make(source, size: size, seed: UInt64(size)) }
            var times = TransferTimes(size: size)
            for repetition in 0..<stage.plan.repetitions {
                let name = "\(size)-\(repetition).bin"
                try await stage.settle()
                let sending = try await chats.send(source, as: name, from: alice, to: bob)
                times.copyIn.append(sending.whole)
                times.upload.append(sending.fromQueued)
                try await alice.figures.rest(on: stage)
                try await stage.settle()
                let received = bob.inGroup(name)
                let read = try await ThreadPool.shared.run { () throws(SystemError) in
                    try FileWork.read(received)
                }
                times.read.append(read.whole)
                try await bob.figures.rest(on: stage)
                try await times.addCommands(source, name, through: relay, on: stage)
                try await times.addPlain(source, name, on: stage)
            }
            rows += times.rows
        }
        return rows
    }
}

/// The seconds of one repetition.
private struct TransferTimes: Sendable {
    let size: Int
    var copyIn: [Double] = []
    var upload: [Double] = []
    var read: [Double] = []
    var send: [Double] = []
    var receive: [Double] = []
    var copyPlain: [Double] = []
    var readPlain: [Double] = []

    /// Whole commands, from start to end of the process.
    mutating func addCommands(
        _ source: String, _ name: String, through relay: OwnRelay, on stage: Stage
    ) async throws {
        let folder = stage.path("descriptions-" + name)
        try await stage.settle()
        let start = ContinuousClock.now
        try await stage.run(
            Stage.chatfs, ["file", "send", source, "--relay", relay.address, "--out", folder])
        send.append(FileWork.seconds(since: start))
        try await stage.settle()
        let sent = ContinuousClock.now
        try await stage.run(
            Stage.chatfs,
            ["file", "receive", folder + "/rcv1.xftp", "--out", stage.plain("got-" + name)])
        receive.append(FileWork.seconds(since: sent))
        try await stage.run(Stage.chatfs, ["file", "delete", folder + "/snd.xftp.private"])
    }

    mutating func addPlain(_ source: String, _ name: String, on stage: Stage) async throws {
        let copy = stage.plain("copy-" + name)
        try await stage.settle()
        let start = ContinuousClock.now
        try await stage.run("/bin/cp", [source, copy])
        copyPlain.append(FileWork.seconds(since: start))
        let read = try await ThreadPool.shared.run { () throws(SystemError) in
            try FileWork.settle(copy)
            return try FileWork.read(copy)
        }
        readPlain.append(read.whole)
    }

    var rows: [Row] {
        let label = "\(size >> 20) MiB"
        func rate(
            _ name: String, _ title: String, _ seconds: [Double], _ other: String, _ plain: [Double]
        ) -> Row {
            Row(
                name, "\(title), \(label)", .megabytesPerSecond,
                seconds.map { $0.megabytesPerSecond(of: size) },
                beside: Reference(other, plain.map { $0.megabytesPerSecond(of: size) }),
                target: .atLeast(150))
        }
        return [
            Row(
                "transfer-upload", "upload of \(label), queued to sent", .megabytesPerSecond,
                upload.map { $0.megabytesPerSecond(of: size) }, target: .atLeast(size < 64 << 20 ? 150 : 300)),
            rate(
                "transfer-copy-in", "copied in until sent", copyIn, PlainFiles.name + ", cp", copyPlain),
            rate("transfer-read", "cold sequential read", read, PlainFiles.name, readPlain),
            rate("file-send", "chatfs file send", send, PlainFiles.name + ", cp", copyPlain),
            rate("file-receive", "chatfs file receive", receive, PlainFiles.name + ", cp", copyPlain),
        ]
    }
}
