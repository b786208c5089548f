import TestSupport

/// Ways in which programs read a file. Each returns the SHA-256 of its bytes.
enum Readers {
    /// The number of ways.
    static let count = 6

    /// Reads each file in another way, beginning with number `start`. Returns the digests in the order of the files.
    /// `copies` is a folder for copies.
    static func digests(of paths: [String], from start: Int = 0, copies: String) async throws -> [String] {
        let outcome = try await Shell.run(
            "python3", ["-c", script, "\(start)", copies] + paths, limit: .seconds(240))
        let digests = outcome.output.split(separator: "\n").map(String.init)
        guard outcome.succeeded, digests.count == paths.count else {
            throw WaitedInVain("reading failed: \(outcome.errors)")
        }
        return digests
    }

    private static let script = """
        import hashlib, mmap, os, random, subprocess, sys

        start, copies, paths = int(sys.argv[1]), sys.argv[2], sys.argv[3:]

        def piped(line, path):
            environment = dict(os.environ, F=path, D=os.path.dirname(path), N=os.path.basename(path),
                               T=os.path.join(copies, "copy"))
            run = subprocess.run(["sh", "-ec", "{ " + line + "; } | sha256sum"], env=environment, check=True,
                                 stdout=subprocess.PIPE)
            return run.stdout.decode()[:64]

        def mapped(path):
            with open(path, "rb") as file:
                content = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
                return hashlib.sha256(content[:]).hexdigest()

        def jumping(path):
            # Pieces of odd lengths in any order, each asked for as one.
            dice = random.Random(path)
            size = os.stat(path).st_size
            pieces, position = [], 0
            while position < size:
                length = dice.randrange(1, 200_000)
                pieces.append((position, length))
                position += length
            content = bytearray(size)
            dice.shuffle(pieces)
            descriptor = os.open(path, os.O_RDONLY)
            for position, length in pieces:
                piece = os.pread(descriptor, length, position)
                assert len(piece) == min(length, size - position), (path, position, length, len(piece))
                content[position:position + len(piece)] = piece
            assert os.pread(descriptor, 10, size) == b""
            os.close(descriptor)
            return hashlib.sha256(content).hexdigest()

        ways = [
            lambda path: piped('cat "$F"', path),
            lambda path: piped('cp "$F" "$T"; cat "$T"; rm -f "$T"', path),
            lambda path: piped('tar -cS -C "$D" -- "$N" | tar -xO', path),
            mapped,
            jumping,
            lambda path: piped(
                'exec 2>/dev/null; dd if="$F" bs=4099 count=3; '
                'dd if="$F" bs=10007 skip=12297 iflag=skip_bytes', path),
        ]
        for number, path in enumerate(paths):
            print(ways[(start + number) % len(ways)](path), flush=True)
        """
}
