import Posix

/// The first read of a local file after its pages were dropped. One daemon reads from the sealed cache, another from
/// the plain cache, and the passthrough filesystem from a file in the kernel's pages.
struct HydratedMeasure: Measure {
    let name = "hydrated"
    let abstract = "first sequential read of a hydrated file, sealed and plain, and after a new mount"

    func take(on stage: Stage) async throws -> [Row] {
        let size = stage.plan.largeFile
        let plain = stage.plain("large.bin")
        try await ThreadPool.shared.run { try FileWork.make(plain, size: size, seed: 5) }
        let program = try await Passthrough.build(on: stage)
        let relay = try await OwnRelay.start(on: stage)
        let chats = try await Chats.make(["alice", "bob", "carol"], on: stage)
        let alice = try await chats.mount("alice", relays: [relay.address])
        _ = try await chats.send(plain, as: "large.bin", from: alice)
        await stage.end(alice.process)

        let passthrough = try await Passthrough.mount(program, stage.path("plain"), on: stage)
        let sealed = try await chats.mount("bob", relays: [relay.address])
        let open = try await chats.mount("carol", relays: [relay.address], ["--cache", "plain"])
        let paths = [sealed.inGroup("large.bin"), open.inGroup("large.bin"), passthrough.file("large.bin")]
        // The plain file's pages stay: the passthrough filesystem reads from them.
        try await hydrate(paths + [plain])
        for mount in [sealed, open] { try await mount.figures.rest(on: stage) }

        var rates = SampleTable(subjects: paths.count)
        for _ in 0..<stage.plan.repetitions {
            for (subject, path) in paths.enumerated() {
                let seconds = try await ThreadPool.shared.run { () throws(SystemError) in
                    try FileWork.forget(path)
                    return try FileWork.read(path).whole
                }
                rates.add(seconds.megabytesPerSecond(of: size), of: subject)
            }
        }
        await stage.end(sealed.process)
        var again: [Double] = []
        for _ in 0..<stage.plan.repetitions {
            let mount = try await chats.mount("bob", relays: [relay.address])
            let path = mount.inGroup("large.bin")
            try await mount.figures.rest(on: stage)
            let seconds = try await ThreadPool.shared.run { () throws(SystemError) in
                try FileWork.read(path).whole
            }
            again.append(seconds.megabytesPerSecond(of: size))
            await stage.end(mount.process)
        }
        return rows(size, rates, again)
    }

    private func hydrate(_ paths: [String]) async throws {
        let sums = try await ThreadPool.shared.run { () throws(SystemError) in
            var sums: Set<UInt64> = []
            for path in paths { sums.insert(try FileWork.read(path).sum) }
            return sums
        }
        guard sums.count == 1 else {
            throw BenchError(.wrong, "A mount gave other bytes than were sent.")
        }
    }

    /// - Parameter again: Rates of the sealed file in new mounts.
    private func rows(_ size: Int, _ rates: SampleTable, _ again: [Double]) -> [Row] {
        let label = "first read of a hydrated \(size >> 20) MiB"
        let reference = Reference(Passthrough.name, rates[2])
        return [
            Row(
                "hydrated-sealed", label + ", sealed", .megabytesPerSecond, rates[0], beside: reference,
                target: .ratioAtLeast(0.6)),
            Row(
                "hydrated-remounted", label + ", sealed, in a new mount", .megabytesPerSecond, again,
                beside: reference, target: .ratioAtLeast(0.6)),
            Row(
                "hydrated-plain", label + ", plain", .megabytesPerSecond, rates[1], beside: reference,
                target: .ratioAtLeast(0.95)),
        ]
    }
}
