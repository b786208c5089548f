import Posix

/// Files of 256 MiB, copied in one after another.
struct UploadMeasure: Measure {
    let name = "upload"
    let abstract =
        "upload of 256 MiB that cp copied in, from queued to sent"

    func take(on stage: Stage) async throws -> [Row] {
        let size = stage.plan.largeFile
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        let source = stage.plain("source.bin")
        try await ThreadPool.shared.run { try FileWork.make(source, size: size, seed: 3) }

        var (queued, whole, native): ([Double], [Double], [Double]) = ([], [], [])
        for repetition in 0..<stage.plan.repetitions {
            try await stage.settle()
            let sending = try await chats.send(source, as: "\(repetition).bin", from: alice)
            queued.append(sending.fromQueued.megabytesPerSecond(of: size))
            whole.append(sending.whole.megabytesPerSecond(of: size))
            try await stage.settle()
            let start = ContinuousClock.now
            try await stage.run("/bin/cp", [source, stage.plain("\(repetition).bin")])
            native.append(FileWork.seconds(since: start).megabytesPerSecond(of: size))
        }
        let label = "\(size >> 20) MiB"
        return [
            Row(
                "upload", "upload of \(label), queued to sent", .megabytesPerSecond, queued,
                target: .atLeast(300)),
            Row(
                "copy-in", "the same from the start of cp", .megabytesPerSecond, whole,
                beside: Reference("\(PlainFiles.name), cp alone", native)),
        ]
    }
}
