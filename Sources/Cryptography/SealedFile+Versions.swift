import Base
import Posix

/// Which of the two files a version of a block lies in, and from when on it may be overwritten.
extension SealedFile {
    /// Where the next version of a block goes.
    func nextPlace(of number: Int) -> Block {
        guard var block = block(number) else { return Block() }
        let isKept = contents.withLock { !$0.unsynchronised.contains(number) }
        if isKept && second.withLock({ $0.make != nil }) {
            block.isSecond.toggle()
            block.version &+= 1
        }
        return block
    }

    /// The file that a block lies in.
    func place(of block: Block) throws(SystemError) -> OpenFile {
        guard block.isSecond else { return file }
        let (known, make) = second.withLock { ($0.file, $0.make) }
        if let known { return known }
        guard let made = try make?() else { return file }
        second.withLock { $0.file = made }
        return made
    }

    /// Makes everything written so far durable: fsync(2). Writers wait meanwhile, readers do not.
    /// - Throws: `.file`.
    public func synchronise() throws(CryptographyError) {
        try mutex.reading { () throws(CryptographyError) in
            // New blocks may come meanwhile: they stay to be synchronised.
            let written = contents.withLock { $0.unsynchronised }
            try flush()
            contents.withLock { $0.unsynchronised.subtract(written) }
        }
    }

    func flush() throws(CryptographyError) {
        try wrappingSystemError { () throws(SystemError) in
            try file.synchronise()
            try second.withLock { $0.file }?.synchronise()
        }
    }
}
