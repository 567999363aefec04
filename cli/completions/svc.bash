# Completion of svc for bash. bash splits words at "=": they are joined again, and only the part after it is replaced.
_svc() {
  local word last line
  local -a words=()
  for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
    last=$(( ${#words[@]} - 1 ))
    if (( last >= 0 )) && { [[ $word == = && ${words[last]} == --* ]] || [[ ${words[last]} == --*= ]]; }; then
      words[last]+=$word
    else
      words+=("$word")
    fi
  done
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then
      compopt -o default
      return
    fi
    line=${line%%$'\t'*}
    [[ $line == --*=* ]] && line=${line#*=}
    COMPREPLY+=("$line")
  done < <(svc __complete "${words[@]}" 2>/dev/null)
}
complete -F _svc svc
