import Posix

extension Measure {
    /// A look into the middle of a cold 1 GiB, as a player does that jumps. Another member of the group for
    /// every repetition.
    static let middle = Measure(
        name: "middle", abstract: "4 KiB in the middle of a cold 1 GiB, and the chunks that it takes"
    ) { stage in
        let size = stage.plan.hugeFile
        let members = (0..<stage.plan.repetitions).map { "member\($0)" }
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice"] + members, on: stage)
        let plain = stage.plain("huge.bin")
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: 2) }
        let alice = try await chats.mount("alice", relays: [relay.address])
        _ = try await chats.send(plain, as: "huge.bin", from: alice)
        await stage.end(alice.process)

        // Away from the borders of chunks.
        let (middle, elsewhere) = (UInt64(size / 2 + (1 << 20)), UInt64(size / 4 + (1 << 20)))
        var (first, again, chunks, native): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for member in members {
            let mount = try await chats.mount(member, relays: [relay.address])
            let path = mount.inGroup("huge.bin")
            try await mount.figures.rest(on: stage)
            first.append(
                1000 * (try await ThreadPool.shared.run { try FileWork.readPage(path, at: middle) }))
            // What was on its way meanwhile counts.
            try await mount.figures.rest(on: stage)
            let cached = try await MountCounters(mount: mount).cachedBytes()
            chunks.append((Double(cached) / Double(4 << 20)).rounded(.up))
            again.append(
                1000 * (try await ThreadPool.shared.run { try FileWork.readPage(path, at: elsewhere) }))
            await stage.end(mount.process)
            native.append(
                1000
                    * (try await ThreadPool.shared.run { () throws(SystemError) in
                        try FileWork.settle(plain)
                        return try FileWork.readPage(plain, at: middle)
                    }))
        }
        let label = "a cold \(size >> 20) MiB"
        return [
            Row(
                "middle", "4 KiB in the middle of \(label)", .milliseconds, first,
                beside: Reference(plainName, native), target: .atMost(50)),
            Row("middle-chunks", "chunks fetched for that", .chunks, chunks, target: .atMost(3)),
            Row(
                "middle-again", "4 KiB elsewhere, once the first chunk is in", .milliseconds, again,
                target: .atMost(25)),
        ]
    }
}
