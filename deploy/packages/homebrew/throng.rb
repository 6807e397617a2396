# Builds `throng` from its published source. Copy it to a tap, and set `sha256` to that of the file
# (`curl -L URL | sha256sum`).
class Throng < Formula
  desc "Turns a table of people into one that can be released (p-sensitive k-anonymity)"
  homepage "https://crates.io/crates/throng-cli"
  url "https://static.crates.io/crates/throng-cli/throng-cli-0.1.0.crate"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args
    generate_completions_from_executable(bin/"throng", "completions")
    (man1/"throng.1").write Utils.safe_popen_read(bin/"throng", "man")
  end

  test do
    system bin/"throng", "demo", "--rows", "2000", "--output", testpath/"demo"
    system bin/"throng", "verify", testpath/"demo/release", "--policy", testpath/"demo/census.toml"
  end
end
