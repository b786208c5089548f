import Posix

extension Measure {
    /// The same file through rclone and from a chat, cold and again.
    static let rclone = Measure(
        name: "rclone", abstract: "cold and repeated read beside rclone mount over WebDAV"
    ) { stage in
        let size = stage.plan.largeFile
        let plain = stage.plain("large.bin")
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: 4) }
        let webdav = try await Rclone.serve(stage.path("plain"), on: stage)
        let members = (0..<stage.plan.repetitions).map { "member\($0)" }
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice"] + members, on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        _ = try await chats.send(plain, as: "large.bin", from: alice)
        await stage.end(alice.process)

        var (cold, theirCold): ([Double], [Double]) = ([], [])
        var (again, theirAgain): ([Double], [Double]) = ([], [])
        for (number, member) in members.enumerated() {
            let ours = try await chats.mount(member, relays: [relay.address])
            let theirs = try await webdav.mount(number)
            let own = ours.inGroup("large.bin")
            let other = theirs.file("large.bin")
            try await stage.settleWithMemory()
            let first = try await ThreadPool.shared.run { try FileWork.read(own) }
            try await stage.settleWithMemory()
            let theirFirst = try await ThreadPool.shared.run { try FileWork.read(other) }
            guard first.sum == theirFirst.sum else {
                throw BenchError(.wrong, "The two mounts gave different bytes.")
            }
            cold.append(first.whole.megabytesPerSecond(of: size))
            theirCold.append(theirFirst.whole.megabytesPerSecond(of: size))
            try await ours.figures.rest(on: stage)
            try await theirs.figures.rest(on: stage)
            try await stage.settle()
            // Several: the first also has the kernel move all pages to those that it keeps longest.
            for _ in 0..<Self.rereads {
                again.append(
                    (try await ThreadPool.shared.run { try FileWork.read(own).whole })
                        .megabytesPerSecond(of: size))
                theirAgain.append(
                    (try await ThreadPool.shared.run { try FileWork.read(other).whole })
                        .megabytesPerSecond(of: size))
            }
            await stage.end(theirs.process)
            await stage.end(ours.process)
        }
        let label = "\(size >> 20) MiB"
        return [
            Row(
                "cold-read", "cold sequential read of \(label)", .megabytesPerSecond, cold,
                beside: Reference(Rclone.name, theirCold), target: .ratioAtLeast(1)),
            Row(
                "reread", "warm re-read of \(label)", .megabytesPerSecond, again,
                beside: Reference(Rclone.name, theirAgain), target: .ratioAtLeast(9)),
        ]
    }

    private static let rereads = 3
}
