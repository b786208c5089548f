import Glibc
import Posix

/// The process that decodes one picture: this same program, started by `PictureDecoder` under limits of
/// memory, time and reach. The picture comes in through its standard input, a small one goes out.
///
/// What decodes is written in C and meets bytes of strangers. So before the first of them the process gives
/// up everything but computing and its two streams (`ProcessHardening.computeOnly`): taken over, it can
/// still only send another small picture.
public enum PictureProcess {
    /// As the first argument it makes `chatfs` this process. Format, number of bytes that come, most bytes
    /// that go out, and the words of a `Product` follow.
    public static let word = "decode-one-picture"

    /// What is made of the picture.
    enum Product: Equatable {
        /// A JPEG for a message, as large as it may be.
        case preview
        /// A PNG with this longer side, in pixels.
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

        /// No more of a picture is decoded than this, where its format allows that (JPEG does).
        var longerSide: Int {
            switch self {
            case .preview: 2 * (sides.max() ?? 1)
            case .thumbnail(let side), .pixels(let side): 2 * side
            }
        }
    }

    /// What the callback of the library gets.
    private struct Decoding {
        var library: PixbufLibrary
        var product: Product
    }

    /// How it ends other than with a picture and 0.
    enum Ending: Int32 {
        /// The library, or its part for this format, is not installed.
        case cannotDecode = 10
        case notConfined = 11
        case brokenPicture = 12
        case wrongCall = 64
    }

    /// More pixels than any camera has: a picture that decodes to more is a trap.
    private static let maxPixels = 256_000_000
    /// Sizes of the longer side and qualities that are tried until one fits.
    private static let sides = [320, 256, 192, 128, 64]
    private static let qualities = [80, 65, 50, 35]
    /// How many times its size a small picture is made as a thumbnail, so that pictures of one zoom look alike. The
    /// largest are taken by programs that want the best there is and scale it themselves: it stays as it is.
    private static func growth(to side: Int) -> Int { side > 512 ? 1 : 2 }

    /// Decodes and ends the process, which must have one thread.
    public static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        guard arguments.count >= 3, let format = PictureFormat(rawValue: arguments[0]),
            let length = Int(arguments[1]), let maxBytes = Int(arguments[2]),
            let product = Product(Array(arguments.dropFirst(3)))
        else { end(.wrongCall) }
        // While files can still be opened: the parts of the library are files of their own.
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
