import Base
import Posix

/// Decides which of the two files holds the next version of a block.
extension SealedFile {
    /// Returns the place of the next version of a block.
    func nextPlace(of number: Int) -> Block {
        guard var block = block(number) else { return Block() }
        let isKept = contents.withLock { !$0.unsynchronised.contains(number) }
        if isKept && second.withLock({ $0.make != nil }) {
            block.isSecond.toggle()
            block.version &+= 1
        }
        return block
    }

    /// Returns the file that holds a version of a block.
    func place(of block: Block) throws(SystemError) -> OpenFile {
        guard block.isSecond else { return file }
        let (known, make) = second.withLock { ($0.file, $0.make) }
        if let known { return known }
        guard let made = try make?() else { return file }
        second.withLock { $0.file = made }
        return made
    }

    /// Makes all previous writes durable with fsync(2). Blocks writers meanwhile, but not readers.
    /// - Throws: `.notDurable`.
    public func synchronise() throws(CryptographyError) {
        try mutex.reading { () throws(CryptographyError) in
            // Blocks added during fsync stay unsynchronised.
            let written = contents.withLock { $0.unsynchronised }
            try flush()
            contents.withLock { $0.unsynchronised.subtract(written) }
        }
    }

    /// - Throws: `.notDurable`.
    func flush() throws(CryptographyError) {
        do throws(SystemError) {
            try file.synchronise()
            try second.withLock { $0.file }?.synchronise()
        } catch {
            throw CryptographyError(.notDurable, error.sentence, cause: error)
        }
    }
}
