import Posix

/// A read in the middle of a cold file of 1 GiB, as by a video player. Each repetition uses another member of the
/// group.
struct MiddleMeasure: Measure {
    let name = "middle"
    let abstract = "4 KiB in the middle of a cold 1 GiB, and the chunks that it takes"

    func take(on stage: Stage) async throws -> [Row] {
        let file = try await SentFile.send(
            "huge.bin", size: stage.plan.hugeFile, seed: 2, members: stage.plan.repetitions, on: stage)
        // Away from the borders of chunks.
        let (middle, elsewhere) = (UInt64(file.size / 2 + (1 << 20)), UInt64(file.size / 4 + (1 << 20)))
        var (first, again, chunks, native): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for member in file.members {
            let mount = try await file.mount(member)
            let path = file.path(on: mount)
            try await mount.figures.rest(on: stage)
            first.append(
                1000 * (try await ThreadPool.shared.run { try FileWork.readPage(path, at: middle) }))
            // Chunks that arrive meanwhile count.
            try await mount.figures.rest(on: stage)
            let cached = try await MountCounters(mount: mount).cachedBytes()
            chunks.append((Double(cached) / Double(4 << 20)).rounded(.up))
            again.append(
                1000 * (try await ThreadPool.shared.run { try FileWork.readPage(path, at: elsewhere) }))
            await stage.end(mount.process)
            native.append(
                1000
                    * (try await ThreadPool.shared.run { () throws(SystemError) in
                        try FileWork.settle(file.plain)
                        return try FileWork.readPage(file.plain, at: middle)
                    }))
        }
        return [
            Row(
                "middle", "4 KiB in the middle of a cold \(file.size >> 20) MiB", .milliseconds, first,
                beside: Reference(PlainFiles.name, native), target: .atMost(50)),
            Row("middle-chunks", "chunks fetched for that", .chunks, chunks, target: .atMost(3)),
            Row(
                "middle-again", "4 KiB elsewhere, once the first chunk is in", .milliseconds, again,
                target: .atMost(25)),
        ]
    }
}
