import Base
import Glibc
import Posix

@testable import Archive

extension Target {
    /// Inputs of 'chatfs import'.
    static let archives = [
        Target("archive-manifest", "manifests of archives", longest: 4096) { bytes in
            guard let manifest = try? Manifest(bytes) else { return }
            hold((try? Manifest(manifest.encoded)) == manifest, "a written manifest is the same")
            hold(Set(manifest.entries.map(\.name)).count == manifest.entries.count, "names are there once")
            hold(manifest.entries.allSatisfy { $0.digest.count == 32 }, "digests have their length")
            hold(
                manifest.entries.allSatisfy { entry in
                    entry.name.parts.allSatisfy { !$0.isEmpty && !$0.hasPrefix(".") && !$0.contains("/") }
                }, "no name leads out")
        },
        Target("archive", "archives, taken out", longest: 4096) { bytes in
            guard let extraction = try? Extraction(Scratch.file(bytes)) else { return }
            let looked = try? extraction.examine(tags: [:]) { done, total in
                hold(done <= total, "progress of a look ends")
            }
            let path = Scratch.newFolder("archive")
            guard let folder = try? OpenFile(path, flags: O_RDONLY | O_DIRECTORY) else {
                return hold(false, "a folder can be opened")
            }
            defer {
                try? PrivateFolder.removeContents(of: folder, keeping: [])
                rmdir(path)
            }
            var most: UInt64 = 0
            let failures = try? extraction.run(into: folder) { done, total in
                hold(done <= total, "progress ends")
                most = max(most, done)
            }
            hold(most <= extraction.manifest.total, "no more is written than was said")
            if let looked, let failures {
                let marked = Set(extraction.manifest.entries.filter(\.isDamaged).map(\.name))
                hold(
                    Set(looked.map(\.failure.name)).subtracting(marked)
                        == Set(failures.map(\.name)).subtracting(marked),
                    "a look finds what taking out finds")
            }
            for entry in extraction.manifest.entries {
                guard let file = try? OpenFile(entry.name.text, flags: O_RDONLY | O_NOFOLLOW, in: folder)
                else {
                    continue
                }
                hold((try? file.size()) == entry.size, "what is there has its size")
                hold(
                    failures?.contains { $0.name == entry.name } != true,
                    "what is named as damaged is not there")
            }
        },
    ]
}
