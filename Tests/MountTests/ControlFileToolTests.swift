import Glibc
import Posix
import TestSupport
import Testing

@Suite("Tools that read control files", .serialized)
struct ControlFileToolTests {
    @Test("every tool reads all of status.json")
    func tools() async throws {
        let mounts = try await TwoMounts.start(mounting: ["alice"])
        let folder = mounts.path("alice/.chatfs")
        let copies = try mounts.folder.makeFolder("copies")
        // Each draft adds a line.
        for round in 0..<3 {
            for number in 0..<40 { try mounts.write([1], to: "alice/bob/\(round) \(number).part") }
            let script = """
                set -e
                # Copies are read-only, as what they are of.
                rm -f "$COPIES"/*
                stat -c %s status.json >/dev/null
                cp status.json "$COPIES/cp"; cat status.json > "$COPIES/cat"
                dd if=status.json of="$COPIES/dd" bs=1000 status=none
                tar -cf - status.json | tar -xOf - > "$COPIES/tar"
                rsync --inplace status.json "$COPIES/rsync"
                grep -a "" status.json > "$COPIES/grep"
                python3 -c "print(open('status.json').read(), end='')" > "$COPIES/python"
                tail -c +1 status.json > "$COPIES/tail"
                test "$(tail -n 1 status.json)" = "}"
                test "$(wc -l < transfers)" = \((round + 1) * 40)
                """
            let outcome = try await Shell.script(script, folder: folder, environment: ["COPIES": copies])
            #expect(outcome.succeeded, "\(outcome.errors)")
            for name in ["cp", "cat", "dd", "tar", "rsync", "grep", "python", "tail"] {
                let check = "import json, sys; print(len(json.load(open(sys.argv[1]))['transfers']))"
                let count = try await Shell.run("python3", ["-c", check, "\(copies)/\(name)"])
                #expect(count.output == "\((round + 1) * 40)\n", "\(name): \(count.errors)")
            }
        }
    }
}
