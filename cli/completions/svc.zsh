#compdef svc
# Completion of svc for zsh.
_svc() {
  local line
  local -a candidates
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      _files
      return
    fi
    candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done < <(svc __complete "${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe svc candidates
}
# In a folder of $fpath, the file is the function itself; elsewhere it is sourced.
if [[ $funcstack[1] == _svc ]]; then
  _svc
else
  compdef _svc svc
fi
