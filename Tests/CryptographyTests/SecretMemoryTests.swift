import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Cryptography

@Suite("Memory of secrets, and atomic files")
struct SecretMemoryTests {
    @Test(
        "secret bytes end with a NUL for C", arguments: [0, 1, 15, 16, 17, 4096])
    func secretBytes(count: Int) {
        let bytes = [UInt8](repeating: 0x41, count: count)
        let copied = SecretBytes(bytes)
        let filled = SecretBytes(upTo: count + 5) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            memory.copyBytes(from: bytes + [9, 9])
            return count
        }
        for secret in [copied, filled] {
            #expect(secret.count == count && secret.withUnsafeBytes { Array($0) } == bytes)
            #expect(secret.withCString { strlen($0) } == count)
        }
        #expect(copied.isEqual(to: filled))
        if count > 0 { #expect(!copied.isEqual(to: SecretBytes(Array(bytes.dropLast())))) }
        #expect(SecretBytes(randomCount: count).count == count)
    }

    @Test("secret memory is read-only after fill")
    func protected() async {
        struct Failure: Error {}
        #expect(throws: Failure.self) {
            try SecretBytes(upTo: 8) { (_: UnsafeMutableRawBufferPointer) throws(Failure) -> Int in
                throw Failure()
            }
        }
        await #expect(processExitsWith: .failure) {
            SecretBytes([1, 2, 3]).withUnsafeBytes {
                UnsafeMutableRawPointer(mutating: $0.baseAddress!).storeBytes(of: 9, as: UInt8.self)
            }
        }
        await #expect(processExitsWith: .failure) {
            _ = SecretBytes(upTo: 4) { (_: UnsafeMutableRawBufferPointer) -> Int in 5 }
        }
    }

    @Test("wiped bytes are joined, cut, compared and zeroed")
    func wipedBytes() {
        var source: [UInt8] = [1, 2, 3]
        let taken = WipedBytes(taking: &source)
        #expect(source == [0, 0, 0] && taken.bytes == [1, 2, 3])
        let joined = WipedBytes(joining: [taken, WipedBytes([]), WipedBytes([4].lazy.map { $0 + 1 })])
        #expect(joined.bytes == [1, 2, 3, 5] && joined.count == 4)
        #expect(joined[1..<3].bytes == [2, 3] && joined[4..<4].count == 0)
        #expect(
            taken == WipedBytes([1, 2, 3]) && taken != WipedBytes([1, 2, 4]) && taken != WipedBytes([1, 2]))
        #expect(WipedBytes([]) == WipedBytes([]))
        var dumped = "\(taken)"
        dump(taken, to: &dumped)
        #expect(!dumped.contains("2") && dumped.hasPrefix("WipedBytes(…)"))
        struct Failure: Error {}
        #expect(throws: Failure.self) { try WipedBytes(count: 3) { (_) throws(Failure) in throw Failure() } }
        #expect(WipedBytes(count: 3) { _ in }.bytes == [0, 0, 0])
    }

    @Test("arguments decode from each form of SimpleX")
    func arguments() throws {
        let text = Vectors.arguments.text
        #expect(try FileArguments(parsing: text) == Vectors.arguments)
        #expect(
            try FileArguments(parsing: "{\"filePath\":\"/x\",\"cryptoArgs\":\(text)}") == Vectors.arguments)
        #expect(
            try FileArguments(parsing: " \n" + text.replacing(",", with: " , \"more\":[1], "))
                == Vectors.arguments)
        for length in 0..<text.utf8.count {
            let error = #expect(throws: CryptographyError.self) {
                try FileArguments(parsing: String(text.prefix(length)))
            }
            #expect(error?.code == .invalidArguments)
        }
    }

    @Test("errors name the wrong length of key or nonce")
    func wrongLengths() {
        func sentence(_ key: Int, _ nonce: Int) -> String? {
            let arguments = FileArguments(
                key: [UInt8](repeating: 1, count: key), nonce: [UInt8](repeating: 1, count: nonce))
            do throws(CryptographyError) {
                _ = try FileArguments(parsing: arguments.text)
                return nil
            } catch { return error.code == .invalidKey ? error.sentence : "another code" }
        }
        #expect(sentence(32, 24) == nil)
        for key in [0, 31, 33] {
            #expect(sentence(key, 24) == "The file key must be 32 bytes in base64url, 44 characters.")
        }
        for nonce in [0, 23, 25] {
            #expect(sentence(32, nonce) == "The file nonce must be 24 bytes in base64url, 32 characters.")
        }
        #expect(throws: CryptographyError.self) { try FileArguments(key: "no!", nonce: "no!") }
    }

    @Test("only system errors have an errno")
    func errors() {
        let system = SystemError(code: ENOSPC, operation: "write a file")
        let error = CryptographyError(system)
        #expect(error.code == .file && error.systemCode == ENOSPC && error.sentence == system.sentence)
        #expect(CryptographyError.library("seal a block").systemCode == nil)
        #expect(
            CryptographyError.library("seal a block").sentence
                == "The cryptographic library could not seal a block.")
    }

    @Test("files appear complete; failures change nothing")
    func unnamedFile() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write([1], to: "file")
        func write(_ path: String, fails: Bool = false) throws(CryptographyError) {
            try UnnamedFile.write(to: path) { file throws(CryptographyError) in
                try wrappingSystemError { () throws(SystemError) in try file.write([2, 2], at: 0) }
                if fails { throw .notKept }
            }
        }
        #expect(throws: CryptographyError.self) { try write(path, fails: true) }
        #expect(try folder.read("file") == [1] && folder.names() == ["file"])
        try write(path)
        try write(folder.path("new"))
        #expect(try folder.read("file") == [2, 2] && folder.read("new") == [2, 2])
        #expect(try folder.names() == ["file", "new"])
        var status = stat()
        #expect(lstat(folder.path("new"), &status) == 0 && status.st_mode & 0o777 == 0o600)
    }

    @Test("only regular files are replaced")
    func noFile() throws {
        let folder = try TemporaryFolder()
        try folder.write([1], to: "target")
        symlink("target", folder.path("link"))
        _ = try folder.makeFolder("folder")
        mkfifo(folder.path("pipe"), 0o600)
        for name in ["link", "folder", "pipe"] {
            let error = #expect(throws: CryptographyError.self) {
                try UnnamedFile.write(to: folder.path(name)) { _ in Issue.record("written") }
            }
            #expect(error?.code == .notRegularFile)
        }
        #expect(try folder.read("target") == [1])
        let missing = #expect(throws: CryptographyError.self) {
            try UnnamedFile.write(to: folder.path("none/file")) { _ in }
        }
        #expect(missing?.systemCode == ENOENT)
    }

    @Test("readers run together and writers alone", .timeLimit(.minutes(10)))
    func readers() async {
        let mutex = ReadWriteMutex(rank: .sealedFile)
        let inside = Lock((readers: 0, writers: 0, wrong: 0))
        // Two readers wait for each other inside the lock.
        let pool = ThreadPool(name: "readers", threads: 4)
        let met = Monitor(0)
        async let first: Void = pool.run {
            mutex.reading {
                met.change { $0 += 1 }
                met.wait { $0 == 2 ? true : nil }
                met.change { _ in }
            }
        }
        async let second: Void = pool.run {
            mutex.reading {
                met.change { $0 += 1 }
                met.wait { $0 == 2 ? true : nil }
                met.change { _ in }
            }
        }
        await first
        await second
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<8 {
                group.addTask {
                    await pool.run {
                        for _ in 0..<500 {
                            if number % 2 == 0 {
                                mutex.writing {
                                    inside.withLock {
                                        $0.writers += 1
                                        if $0.writers != 1 || $0.readers != 0 { $0.wrong += 1 }
                                    }
                                    inside.withLock { $0.writers -= 1 }
                                }
                            } else {
                                mutex.reading {
                                    inside.withLock {
                                        $0.readers += 1
                                        if $0.writers != 0 { $0.wrong += 1 }
                                    }
                                    inside.withLock { $0.readers -= 1 }
                                }
                            }
                        }
                    }
                }
            }
        }
        #expect(inside.withLock { $0.wrong } == 0)
        struct Failure: Error {}
        #expect(throws: Failure.self) { try mutex.writing { throw Failure() } }
        mutex.writing {}
    }
}
