# Formula of git-ralph, for a tap or for homebrew-core. `packaging/source` sets version and checksum.
class GitRalph < Formula
  desc "Drive a coding agent through the stories of a change, with git as the safety net"
  homepage "https://github.com/git-ralph/git-ralph"
  url "https://github.com/git-ralph/git-ralph/releases/download/v@VERSION@/git-ralph-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build
  uses_from_macos "git", since: :sonoma

  def install
    system "cargo", "install", *std_cargo_args
    man1.install Dir["man/*.1"]
    man7.install Dir["man/*.7"]
    bash_completion.install "completions/git-ralph.bash" => "git-ralph"
    zsh_completion.install "completions/_git-ralph"
    fish_completion.install "completions/git-ralph.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/git-ralph version")
    system bin/"git-ralph", "demo"
  end
end
