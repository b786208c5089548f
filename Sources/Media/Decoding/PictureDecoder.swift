import Posix

/// Makes small pictures of others. Each is decoded by a separate process, which a hostile picture may crash, exhaust or
/// stall (`PictureProcess`).
struct PictureDecoder: Sendable {
    enum Outcome: Equatable, Sendable {
        case preview([UInt8])
        /// The picture is invalid, incomplete, or needs more resources than any picture.
        case broken
        /// The picture was not decoded and may be valid.
        case unavailable
    }

    /// The limits of a process: bytes of address space, of which the program needs about a fifth, and seconds of
    /// processor time. They suffice for 100 million pixels with transparency.
    private static let confinement = Confinement(maxMemory: 512 << 20, maxSeconds: 10)

    /// The path of this program.
    let program: String
    /// Longer than the processor time, because a timeout on a busy machine is not the fault of the picture.
    let timeout: Duration

    /// Limits the number of concurrent processes.
    var places = ConfinedProgram.usualPlaces

    /// - Parameters:
    ///   - size: The size of the file that `content` reads, in bytes.
    ///   - maxBytes: The maximum size of the result in bytes.
    func decode(
        _ format: PictureFormat, into product: PictureProcess.Product = .preview, size: UInt64, maxBytes: Int,
        _ content: @escaping SharedContent
    ) async -> Outcome {
        var settings = ChildProcess.Settings(
            program, [PictureProcess.word, format.rawValue, String(size), String(maxBytes)] + product.words)
        settings.environment = ["SWIFT_BACKTRACE": "enable=no"]
        settings.input = .pipe
        settings.output = .pipe
        settings.errors = .null
        settings.confinement = Self.confinement
        let process = ConfinedProgram(
            settings: settings, timeout: timeout, maxOutput: maxBytes, places: places)
        let outcome = await process.run { try StagedContent.send(content, size: size, to: $0) }
        switch outcome {
        case .ended(0, let output):
            guard let wanted = product.format else { return .preview(output) }
            return PictureFormat(start: output) == wanted ? .preview(output) : .broken
        case .ended(PictureProcess.Ending.brokenPicture.rawValue, _), .crashed: return .broken
        case .ended, .notFinished: return .unavailable
        }
    }

    /// Returns whether the decoder of a format is installed and can be confined.
    func canDecode(_ format: PictureFormat) async -> Bool {
        // An empty picture is broken; only a working decoder reports that.
        await decode(format, size: 0, maxBytes: 0) { _, _ in [] } == .broken
    }
}
