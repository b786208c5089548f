import Posix

/// Has small pictures made of others, each by a process of its own that a hostile picture may crash, fill or
/// hold up (`PictureProcess`).
struct PictureDecoder: Sendable {
    enum Outcome: Equatable, Sendable {
        case preview([UInt8])
        /// It is no picture, only a part of one, or asks for more than any picture needs.
        case broken
        /// The picture was not decoded, and may be a good one.
        case unavailable
    }

    /// Most a process may use: a picture of 100 million pixels with transparency fits, a second of decoding
    /// is long. Bytes of address space, of which the program itself needs about a fifth.
    private static let confinement = Confinement(maxMemory: 512 << 20, maxSeconds: 10)

    /// A path of this program.
    let program: String
    /// Longer than the processor time, for busy machines: what takes so long is not the picture's fault.
    let timeout: Duration

    /// How many at a time.
    var places = ConfinedProgram.usualPlaces

    /// - Parameters:
    ///   - size: of the file that `content` reads, in bytes.
    ///   - maxBytes: bytes that what is made of it may have.
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

    /// Whether what decodes a format is there and can be held to its limits.
    func canDecode(_ format: PictureFormat) async -> Bool {
        // Nothing is no picture: who says so has looked.
        await decode(format, size: 0, maxBytes: 0) { _, _ in [] } == .broken
    }
}
