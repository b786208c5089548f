import Glibc

/// A C library loaded at run time. It stays loaded. Any thread.
public struct SharedLibrary: @unchecked Sendable {
    // Safe: dlsym(3) may be called from any thread.
    private let handle: UnsafeMutableRawPointer

    public struct MissingFunction: Error {
        public let name: String
    }

    /// Returns nil if the library is not installed; dlerror(3) has the reason.
    /// - Parameters:
    ///   - name: Path, or a name that the loader searches.
    ///   - flags: Of dlopen(3).
    public init?(_ name: String, flags: Int32 = RTLD_NOW | RTLD_LOCAL) {
        guard let handle = dlopen(name, flags) else { return nil }
        self.handle = handle
    }

    /// Returns the address of a function of the library, or of one that it depends on.
    public func address(_ name: String) throws(MissingFunction) -> UnsafeMutableRawPointer {
        guard let address = dlsym(handle, name) else { throw MissingFunction(name: name) }
        return address
    }

    /// Returns a function.
    public func function<Function>(_ name: String) throws(MissingFunction) -> Function {
        unsafeBitCast(try address(name), to: Function.self)
    }
}
