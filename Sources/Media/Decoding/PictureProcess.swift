import Glibc
import Posix

/// The process that decodes one picture: this program, started by `PictureDecoder` with limits of memory, time and
/// access. Reads the picture from standard input and writes a small one.
///
/// The decoder is C code that parses untrusted bytes. Before reading any, the process drops all abilities but computing
/// and its two streams (`ProcessHardening.computeOnly`). A compromised process can still only send a small picture.
public enum PictureProcess {
    /// The first argument that makes `chatfs` this process. The format, the input length in bytes, the maximum output
    /// length in bytes and the words of a `Product` follow.
    public static let word = "decode-one-picture"

    /// The product of the picture.
    enum Product: Equatable {
        /// A JPEG for a message, within its size limit.
        case preview
        /// A PNG with this longer side in pixels.
        case thumbnail(side: Int)
        /// Its pixels (`PreviewPixels`), with this longer side at most.
        case pixels(side: Int)

        /// Of what is written; nil for what has a form of its own.
        var format: PictureFormat? {
            switch self {
            case .preview: .jpeg
            case .thumbnail: .png
            case .pixels: nil
            }
        }

        var words: [String] {
            switch self {
            case .preview: ["preview"]
            case .pixels(let side): ["pixels", String(side)]
            case .thumbnail(let side): ["thumbnail", String(side)]
            }
        }

        init?(_ words: [String]) {
            switch words.first {
            case "preview" where words.count == 1: self = .preview
            case "thumbnail" where words.count == 2:
                guard let side = Int(words[1]), (1...4096).contains(side) else { return nil }
                self = .thumbnail(side: side)
            case "pixels" where words.count == 2:
                guard let side = Int(words[1]), (1...4096).contains(side) else { return nil }
                self = .pixels(side: side)
            default: return nil
            }
        }

        /// The resolution at which decoding stops, if the format allows that (JPEG does).
        var longerSide: Int {
            switch self {
            case .preview: 2 * (sides.max() ?? 1)
            case .thumbnail(let side), .pixels(let side): 2 * side
            }
        }
    }

    /// The context of the library's callback.
    private struct Decoding {
        var library: PixbufLibrary
        var product: Product
    }

    /// The exit codes of failures.
    enum Ending: Int32 {
        /// The library, or its module for this format, is not installed.
        case cannotDecode = 10
        case notConfined = 11
        case brokenPicture = 12
        case wrongCall = 64
    }

    /// More pixels than any camera produces: larger pictures are attacks.
    private static let maxPixels = 256_000_000
    /// The longer sides and qualities to try until a preview fits.
    private static let sides = [320, 256, 192, 128, 64]
    private static let qualities = [80, 65, 50, 35]
    /// The maximum enlargement of a small picture, so that thumbnails at one zoom look alike. Programs scale the
    /// largest size on their own, so it is not enlarged.
    private static func growth(to side: Int) -> Int { side > 512 ? 1 : 2 }

    /// Decodes and ends the process, which must have a single thread.
    public static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        guard arguments.count >= 3, let format = PictureFormat(rawValue: arguments[0]),
            let length = Int(arguments[1]), let maxBytes = Int(arguments[2]),
            let product = Product(Array(arguments.dropFirst(3)))
        else { end(.wrongCall) }
        // Load the library's modules while files can still be opened.
        guard let library = PixbufLibrary(), let loader = library.loader(for: format),
            library.prepareWriting()
        else { end(.cannotDecode) }
        do throws(SystemError) { try ProcessHardening.computeOnly() } catch { end(.notConfined) }

        var decoding = Decoding(library: library, product: product)
        let picture = withUnsafeMutablePointer(to: &decoding) { decoding in
            library.whenSizeIsKnown(loader, decoding, Self.chooseSize)
            return decode(loader, library, length)
        }
        guard let picture, let small = made(product, of: picture, library, maxBytes: maxBytes),
            (try? OpenFile(adopting: STDOUT_FILENO).send(small)) != nil
        else { end(.brokenPicture) }
        _exit(0)
    }

    private static func made(
        _ product: Product, of picture: PixbufLibrary.Picture, _ library: PixbufLibrary, maxBytes: Int
    ) -> [UInt8]? {
        switch product {
        case .preview: return preview(of: picture, library, maxBytes: maxBytes)
        case .thumbnail(let side):
            let size = library.size(of: picture).filling(side, growing: growth(to: side))
            let png = library.scaled(picture, to: size).flatMap { library.png($0) }
            return png.flatMap { $0.count <= maxBytes ? $0 : nil }
        case .pixels(let side):
            let size = library.size(of: picture).fitting(side)
            return library.scaled(picture, to: size).flatMap { library.pixels(of: $0) }.flatMap {
                PreviewPixels.output(width: size.width, height: size.height, $0)
            }
        }
    }

    private static func end(_ ending: Ending) -> Never { _exit(ending.rawValue) }

    private static let chooseSize: PixbufLibrary.SizeKnown = { loader, width, height, decoding in
        guard width > 0, height > 0, Int(width) <= maxPixels / Int(height) else { end(.brokenPicture) }
        guard let decoding = decoding?.assumingMemoryBound(to: Decoding.self).pointee else { return }
        let size = PictureSize(width: Int(width), height: Int(height))
        decoding.library.ask(loader, for: size.fitting(decoding.product.longerSide))
    }

    private static func decode(
        _ loader: PixbufLibrary.Loader, _ library: PixbufLibrary, _ length: Int
    ) -> PixbufLibrary.Picture? {
        let input = OpenFile(adopting: STDIN_FILENO)
        let piece = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        var rest = length
        while rest > 0 {
            let wanted = UnsafeMutableRawBufferPointer(rebasing: piece[..<min(rest, piece.count)])
            guard (try? input.receive(into: wanted)) == wanted.count,
                library.take(UnsafeRawBufferPointer(wanted), loader)
            else { return nil }
            rest -= wanted.count
        }
        return library.finish(loader)
    }

    private static func preview(
        of picture: PixbufLibrary.Picture, _ library: PixbufLibrary, maxBytes: Int
    ) -> [UInt8]? {
        for side in sides {
            guard let small = library.scaled(picture, to: library.size(of: picture).fitting(side))
            else { return nil }
            for quality in qualities {
                guard let jpeg = library.jpeg(small, quality: quality) else { return nil }
                if jpeg.count <= maxBytes { return jpeg }
            }
        }
        return nil
    }
}
